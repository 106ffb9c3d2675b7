// Citations of docs/semantics.md lead to a section, files that documents name exist, and long sources open
// with a head.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace podium::documents {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

const std::vector<std::string> kProductRooms{"annotate", "executor", "importer", "ir", "models"};

Lines lines_of(const std::string& path) {
  std::ifstream file(fs::path(PODIUM_SOURCE_DIR) / path);
  Lines lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::string text_of(const std::string& path) {
  std::string text;
  for (const std::string& line : lines_of(path)) text += line + "\n";
  return text;
}

// Every file of these folders, from the root of the repository.
Lines files_in(const std::vector<std::string>& folders) {
  const fs::path root = PODIUM_SOURCE_DIR;
  Lines files;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.is_regular_file()) files.push_back(fs::relative(entry.path(), root).generic_string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool holds_code(std::string_view path) { return path.ends_with(".h") || path.ends_with(".cpp"); }

template <class Use>
void for_each_match(const std::string& text, const std::regex& pattern, const Use& use) {
  std::for_each(std::sregex_iterator(text.begin(), text.end(), pattern), std::sregex_iterator(), use);
}

// One line for each run of lines with comments, so that a sentence over two lines is in one piece.
Lines comments_of(const std::string& path) {
  static const std::regex kMarks(R"(^[/<!]*\s*)");
  Lines comments;
  bool goes_on = false;
  for (const std::string& line : lines_of(path)) {
    const std::size_t begin = line.find("//");
    if (begin == std::string::npos) {
      goes_on = false;
      continue;
    }
    const std::string text = std::regex_replace(line.substr(begin + 2), kMarks, "");
    if (goes_on) {
      comments.back() += " " + text;
    } else {
      comments.push_back(text);
    }
    goes_on = true;
  }
  return comments;
}

// One line for each paragraph of a document.
Lines paragraphs_of(const std::string& path) {
  Lines paragraphs{""};
  for (const std::string& line : lines_of(path)) {
    if (line.empty()) {
      paragraphs.emplace_back();
    } else {
      paragraphs.back() += (paragraphs.back().empty() ? "" : " ") + line;
    }
  }
  return paragraphs;
}

Lines numbers_in(const std::string& text) {
  static const std::regex kNumber(R"(\d+(?:\.\d+)?)");
  Lines numbers;
  for_each_match(text, kNumber, [&](const std::smatch& match) { numbers.push_back(match.str()); });
  return numbers;
}

// The sections of docs/semantics.md, each with the numbers of the rows of its tables.
using Sections = std::map<std::string, std::set<std::string>>;

Sections read_sections() {
  static const std::regex kHeading(R"(^###? (\d+(?:\.\d+)?) )");
  static const std::regex kRow(R"(^\| (\d+(?:, \d+)*) \|)");
  Sections sections;
  std::string section;
  std::smatch match;
  for (const std::string& line : lines_of("docs/semantics.md")) {
    if (std::regex_search(line, match, kHeading)) {
      section = match[1];
      sections[section];
    } else if (std::regex_search(line, match, kRow)) {
      for (const std::string& row : numbers_in(match[1])) sections[section].insert(row);
    }
  }
  return sections;
}

// The faults of the citations in a text. "semantics, section 4.2", "semantics, sections 5.1 to 5.3" and
// "semantics, section 15, rows 11 to 14" are right where the sections and rows exist.
Lines faults_of_citations(const std::string& text, const Sections& sections) {
  static const std::string kNumbers = R"((?:, | and | to ))";
  static const std::regex kWord(R"(\b[Ss]emantics\b(?!\.md)(?!, sections? [\dN]))");
  static const std::regex kCitation(R"((semantics, )?\bsections? (\d+(?:\.\d+)?(?:)" + kNumbers +
                                        R"(\d+(?:\.\d+)?)*)(?:, rows? (\d+(?:)" + kNumbers + R"(\d+)*))?)",
                                    std::regex::icase);
  Lines faults;
  for_each_match(text, kWord, [&](const std::smatch& match) {
    faults.push_back("'semantics' without ', section N': ..." + match.str() +
                     match.suffix().str().substr(0, 40));
  });
  for_each_match(text, kCitation, [&](const std::smatch& match) {
    if (!match[1].matched) faults.push_back("'" + match.str() + "' without 'semantics, ' before it");
    for (const std::string& number : numbers_in(match[2])) {
      const auto section = sections.find(number);
      if (section == sections.end()) {
        faults.push_back("no section " + number);
        continue;
      }
      for (const std::string& row : numbers_in(match[3])) {
        if (!section->second.contains(row)) faults.push_back("no row " + row + " in section " + number);
      }
    }
  });
  return faults;
}

TEST(Semantics, CitationsAreUnderstood) {
  const Sections sections{{"4.2", {}}, {"5.1", {}}, {"15", {"11", "14"}}};
  const auto faults = [&](const std::string& text) { return faults_of_citations(text, sections); };
  EXPECT_EQ(faults("The order of a cycle (semantics, section 4.2)."), Lines{});
  EXPECT_EQ(faults("Semantics, sections 4.2 and 5.1: as there."), Lines{});
  EXPECT_EQ(faults("(semantics, section 15, rows 11 to 14)"), Lines{});
  EXPECT_EQ(faults("(semantics, sections 4.2 to 5.9)"), Lines{"no section 5.9"});
  EXPECT_EQ(faults("(semantics, section 15, rows 11 and 12)"), Lines{"no row 12 in section 15"});
  EXPECT_EQ(faults("as in section 4.2"), Lines{"'section 4.2' without 'semantics, ' before it"});
  EXPECT_EQ(faults("(semantics 4.2)").size(), 1U);
}

TEST(Semantics, HasEverySectionThatIsCited) {
  const Sections sections = read_sections();
  Lines found;
  std::size_t citations = 0;
  const auto look_at = [&](const std::string& path, const Lines& texts) {
    for (const std::string& text : texts) {
      if (text.find("semantics, section") != std::string::npos) ++citations;
      for (const std::string& fault : faults_of_citations(text, sections))
        found.push_back(path + ": " + fault);
    }
  };
  std::vector<std::string> rooms = kProductRooms;
  rooms.emplace_back("tests");
  for (const std::string& path : files_in(rooms)) {
    if (holds_code(path) && path != "tests/documents_test.cpp") look_at(path, comments_of(path));
  }
  for (const char* path : {"ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "tests/README.md"}) {
    look_at(path, paragraphs_of(path));
  }
  EXPECT_EQ(found, Lines{});
  EXPECT_GT(citations, 40U);
}

// References inside docs/semantics.md look like "(4.2)" and "(8.2, 8.3)".
TEST(Semantics, RefersToItsOwnSections) {
  static const std::regex kReference(R"(\((\d+\.\d)(?:, (\d+\.\d))?[):])");
  const Sections sections = read_sections();
  Lines missing;
  std::size_t references = 0;
  for_each_match(text_of("docs/semantics.md"), kReference, [&](const std::smatch& match) {
    for (const std::string& number : numbers_in(match.str())) {
      ++references;
      if (!sections.contains(number)) missing.push_back(number);
    }
  });
  EXPECT_EQ(missing, Lines{});
  EXPECT_GT(references, 20U);
}

// Whether the name is the path of a file or folder from the root, or the end of such a path ("lower/cycle.h",
// "cuts.h"). * and words in capitals (FAMILY) stand for any name.
bool names_a_file(std::string name, const Lines& paths) {
  static const std::regex kSpecial(R"([.+])");
  static const std::regex kAny(R"(\*|[A-Z]{3,}(?![A-Za-z]|\.md))");
  while (name.ends_with('/') || name.ends_with('.')) name.pop_back();
  const std::string pattern = std::regex_replace(std::regex_replace(name, kAny, "[^/]*"), kSpecial, R"(\$&)");
  const std::regex path_pattern("(.*/)?" + pattern);
  return std::any_of(paths.begin(), paths.end(),
                     [&](const std::string& path) { return std::regex_match(path, path_pattern); });
}

Lines paths_of_repository() {
  std::vector<std::string> folders = kProductRooms;
  folders.insert(folders.end(), {"docs", "tests", "tools"});
  Lines paths{"ARCHITECTURE.md", "CONTRIBUTING.md", "README.md",
              "SECURITY.md",     "CMakeLists.txt",  "CMakePresets.json"};
  std::set<std::string> parents(folders.begin(), folders.end());
  for (const std::string& file : files_in(folders)) {
    paths.push_back(file);
    for (fs::path parent = fs::path(file).parent_path(); !parent.empty(); parent = parent.parent_path()) {
      parents.insert(parent.generic_string());
    }
  }
  paths.insert(paths.end(), parents.begin(), parents.end());
  return paths;
}

// A name counts as a path when it has the ending of a source or document, or begins with a folder.
TEST(Documents, NameFilesThatExist) {
  static const std::regex kName(R"([\w.*/-]*[\w*/])");
  static const std::regex kIsPath(
      R"([\w.*/-]+\.(h|cpp|md|cmake)|(annotate|docs|executor|importer|ir|models|tests|tools)/[\w.*/-]*)");
  const Lines paths = paths_of_repository();
  Lines missing;
  std::size_t names = 0;
  for (const char* document :
       {"ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "SECURITY.md", "docs/semantics.md"}) {
    for_each_match(text_of(document), kName, [&](const std::smatch& match) {
      if (!std::regex_match(match.str(), kIsPath)) return;
      ++names;
      if (!names_a_file(match.str(), paths)) missing.push_back(std::string(document) + ": " + match.str());
    });
  }
  EXPECT_EQ(missing, Lines{});
  EXPECT_GT(names, 50U);
}

// How many lines of comment come before the first include.
std::ptrdiff_t lines_of_head(const Lines& lines) {
  const auto end = std::find_if(lines.begin(), lines.end(),
                                [](const std::string& line) { return line.starts_with("#include"); });
  return std::count_if(lines.begin(), end, [](const std::string& line) { return line.starts_with("//"); });
}

TEST(Sources, OpenWithAHeadWhereTheyAreLong) {
  constexpr std::ptrdiff_t kLong = 150;
  std::string without;  // gtest shows 32 elements of a list
  std::size_t with = 0;
  for (const std::string& path : files_in(kProductRooms)) {
    if (!path.ends_with(".cpp")) continue;
    const Lines lines = lines_of(path);
    if (std::ssize(lines) <= kLong) continue;
    if (lines_of_head(lines) < 2) {
      without += path + "\n";
    } else {
      ++with;
    }
  }
  EXPECT_EQ(without, "");
  EXPECT_GT(with, 100U);
}

}  // namespace
}  // namespace podium::documents
