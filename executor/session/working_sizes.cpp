// A size is tried by reading the model again with it, and inferring and folding all its types. First all open
// dimensions get the same size: 1, and where that does not do, others from a list of small powers of two and
// of sizes that images have. Then one dimension after the other gets the smallest with which nothing becomes
// worse: a batch is 1 again, the sides of an image stay as large as its network needs. A network that halves
// images four times and joins what it has enlarged again takes multiples of 16, so that what is advised is
// twice what was found, where that fits, too.
#include "executor/session/working_sizes.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "executor/session/session.h"
#include "ir/shell_word.h"

namespace podium {
namespace {

using Sizes = std::map<std::string, std::int64_t>;

constexpr std::array<std::int64_t, 14> kUsual{1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 28, 224, 299, 384};

// The better the later.
enum class Fit : std::uint8_t { Fails, LeavesNothing, Fits };

struct Attempt {
  Fit fit = Fit::Fits;
  std::string reason = {};  // unless it fits
};

// A pool over an image of one pixel leaves nothing, and all that follows is empty or no number.
Attempt look_for_empty_values(const ir::Graph& graph) {
  for (const ir::Op& op : graph.ops) {
    for (ir::ValueId id : op.outputs) {
      if (!id.valid()) continue;
      const ir::Type& type = graph[id].type;
      const bool is_data = type.is_tensor() && is_float(type.element) && type.is_static();
      if (!is_data || type.element_count() > 0) continue;
      return {Fit::LeavesNothing,
              fmt::format("'{}' is {}, which has no elements", graph[id].name, to_string(type))};
    }
  }
  return {};
}

class SizeSearch {
 public:
  explicit SizeSearch(const importer::Model& model) : model_(model) {}

  /// Nothing where no size fits.
  std::optional<Sizes> find();
  /// What was wrong with 1 for all; empty where nothing was.
  const std::string& why_not_one() const { return why_not_one_; }
  /// Others that fit as well as `found`: twice as large, but for those where nothing else would fit.
  Sizes others(const Sizes& found) const;
  /// " --dim batch=2 --dim width=32", in the order of the model; SIZE where `sizes` has none.
  std::string flags(const Sizes& sizes) const;

 private:
  const std::vector<std::string>& names() const { return model_.info.open.names; }
  Attempt attempt(const Sizes& sizes) const;
  Sizes all_of(std::int64_t size) const;
  void lower(Sizes& sizes) const;

  const importer::Model& model_;
  Fit fit_ = Fit::Fails;  // of the best
  std::string why_not_one_ = {};
};

Sizes SizeSearch::all_of(std::int64_t size) const {
  Sizes sizes;
  for (const std::string& name : names()) sizes.emplace(name, size);
  return sizes;
}

Attempt SizeSearch::attempt(const Sizes& sizes) const try {
  importer::Model sized = sizes == model_.info.open.assumed ? model_ : importer::with_sizes(model_, sizes);
  optimize(sized);
  return look_for_empty_values(sized.graph);
} catch (const Error& error) {
  return {Fit::Fails, error.what()};
} catch (const std::bad_alloc&) {
  return {Fit::Fails, "out of memory"};
}

std::optional<Sizes> SizeSearch::find() {
  Sizes best;
  for (const std::int64_t size : kUsual) {
    const Attempt tried = attempt(all_of(size));
    if (size == 1) why_not_one_ = tried.reason;
    if (tried.fit > fit_) {
      best = all_of(size);
      fit_ = tried.fit;
    }
    const bool no_size_helps = size == kUsual[1] && tried.reason == why_not_one_;
    if (fit_ == Fit::Fits || no_size_helps) break;
  }
  if (fit_ == Fit::Fails) return std::nullopt;
  lower(best);
  return best;
}

void SizeSearch::lower(Sizes& sizes) const {
  for (const std::string& name : names()) {
    const std::int64_t found = sizes.at(name);
    for (const std::int64_t size : kUsual) {
      if (size >= found) continue;
      sizes[name] = size;
      if (attempt(sizes).fit >= fit_) break;
      sizes[name] = found;
    }
  }
}

Sizes SizeSearch::others(const Sizes& found) const {
  Sizes doubled = found;
  for (auto& [name, size] : doubled) size *= 2;
  if (attempt(doubled).fit >= fit_) return doubled;
  Sizes others = found;
  for (const auto& [name, size] : doubled) {
    others[name] = size;
    if (attempt(others).fit < fit_) others[name] = found.at(name);
  }
  return others;
}

std::string SizeSearch::flags(const Sizes& sizes) const {
  std::string flags;
  for (const std::string& name : names()) {
    const auto size = sizes.find(name);
    flags += fmt::format(" --dim {}={}", ir::shell_word(name),
                         size == sizes.end() ? "SIZE" : fmt::format("{}", size->second));
  }
  return flags;
}

// "1 taken for batch, 16 for height, width"
std::string taken_text(const std::vector<std::string>& names, const Sizes& sizes) {
  std::map<std::int64_t, std::vector<std::string>> by_size;
  for (const std::string& name : names) by_size[sizes.at(name)].push_back(name);
  std::string text;
  for (const auto& [size, same] : by_size)
    text += fmt::format("{}{}{} {}", text.empty() ? "" : ", ", size, text.empty() ? " taken for" : " for",
                        fmt::join(same, ", "));
  return text;
}

}  // namespace

SizedModel with_working_sizes(importer::Model model) {
  const std::vector<std::string> names = model.info.open.names;
  if (names.empty()) return {std::move(model)};
  SizeSearch search(model);
  const std::optional<Sizes> found = search.find();
  if (!found) {
    throw Error("{} (1 taken for {}, and no other size fits all of them: give them by{})",
                search.why_not_one(), fmt::join(names, ", "), search.flags({}));
  }
  std::string taken = taken_text(names, *found);
  if (const Sizes others = search.others(*found); others != *found)
    taken += ": others by" + search.flags(others);
  if (!search.why_not_one().empty())
    taken += fmt::format(" (with 1 for all of them: {})", search.why_not_one());
  if (*found != model.info.open.assumed) model = importer::with_sizes(model, *found);
  return {std::move(model), std::move(taken)};
}

void require_sizes(const importer::Model& model, const std::function<bool(const std::string&)>& is_given) {
  for (ir::ValueId id : model.graph.inputs) {
    const ir::Value& input = model.graph[id];
    const bool is_sized = !input.type.is_tensor() || input.type.is_static();
    if (is_sized || (is_given && is_given(input.name))) continue;
    const importer::OpenDims& open = model.info.open;
    const std::string text = type_text(open, input.name, input.type);
    if (open.names.empty() || !input.type.has_rank) {
      throw Error("input '{}' is {}: its element type, rank and sizes needed, which only a file tells",
                  input.name, text);
    }
    SizeSearch search(model);
    const std::optional<Sizes> found = search.find();
    const bool ones_fit = found && search.why_not_one().empty();
    throw Error("input '{}' is {}: sizes needed, such as{}{}", input.name, text,
                search.flags(found ? search.others(*found) : Sizes{}),
                ones_fit ? ", or --dim '*=1' for all" : "");
  }
}

}  // namespace podium
