// Counts the n-grams of a pool in rows of words. The pool is a tree of words; from each word of a row that an n-gram
// begins with the tree is gone down, for each skip once.
#include "executor/kernels/tf_idf.h"

#include <algorithm>
#include <memory>
#include <unordered_map>

namespace podium::kernels {
namespace {

// The n-grams of the pool as a tree of words; node 0 is the root.
template <class Word>
class GramTree {
 public:
  static constexpr std::int64_t kNoGram = -1;

  struct Node {
    std::unordered_map<Word, std::size_t> next = {};
    std::int64_t column = kNoGram;  // where the n-gram that ends here is counted
  };

  void add(std::span<const Word> gram, std::int64_t column) {
    std::size_t at = 0;
    for (const Word& word : gram) {
      const auto [place, is_new] = nodes_[at].next.try_emplace(word, nodes_.size());
      at = place->second;
      if (is_new) nodes_.emplace_back();
    }
    nodes_[at].column = column;
  }

  const Node& root() const { return nodes_.front(); }
  /// nullptr when no n-gram goes on with this word.
  const Node* after(const Node& node, const Word& word) const {
    const auto found = node.next.find(word);
    return found == node.next.end() ? nullptr : &nodes_[found->second];
  }

 private:
  std::vector<Node> nodes_ = std::vector<Node>(1);
};

struct GramRules {
  std::int64_t shortest;
  std::int64_t longest;
  std::int64_t most_skipped;
};

// The pool lists all 1-grams, then all 2-grams, ...; ngram_counts says where each length begins.
template <class Word>
GramTree<Word> tree_of(const std::vector<Word>& pool, const ir::IntList& begins, const ir::IntList& columns,
                       const GramRules& rules) {
  GramTree<Word> tree;
  std::size_t gram = 0;
  const auto size = std::ssize(pool);
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::int64_t length = i + 1;
    const std::int64_t end = i + 1 < begins.size() ? begins[i + 1] : size;
    if (begins[i] < 0 || begins[i] > end || end > size) {
      throw Error("ngram_counts places grams of {} at {} to {} of a pool of {}", length, begins[i], end,
                  size);
    }
    for (std::int64_t at = begins[i]; at + length <= end; at += length, ++gram) {
      if (gram >= columns.size())
        throw Error("ngram_indexes has {} numbers, fewer than the pool grams", columns.size());
      if (length < rules.shortest || length > rules.longest) continue;
      tree.add({pool.data() + at, static_cast<std::size_t>(length)}, columns[gram]);
    }
  }
  return tree;
}

// Counts the n-grams that begin at `first` and take every `step`-th word.
template <class Word>
void count_from(const GramTree<Word>& tree, std::span<const Word> words, std::size_t first, std::size_t step,
                std::int64_t shortest, std::int64_t longest, float* counts) {
  const auto* node = &tree.root();
  std::int64_t length = 1;
  for (std::size_t at = first; at < words.size() && length <= longest; at += step, ++length) {
    node = tree.after(*node, words[at]);
    if (node == nullptr) return;
    if (length >= shortest && node->column >= 0) ++counts[node->column];
  }
}

template <class Word>
void count_row(const GramTree<Word>& tree, const GramRules& rules, std::span<const Word> words,
               float* counts) {
  std::vector<std::size_t> starts;  // of words that an n-gram begins with
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (tree.after(tree.root(), words[i]) != nullptr) starts.push_back(i);
  }
  std::int64_t shortest = rules.shortest;
  // No two words are farther apart than the row is long.
  const std::int64_t most = std::min(rules.most_skipped, std::ssize(words));
  for (std::int64_t step = 1; step <= most + 1 && shortest <= rules.longest; ++step) {
    for (const std::size_t first : starts)
      count_from(tree, words, first, step, shortest, rules.longest, counts);
    // A single word has nothing to skip: it is counted once.
    shortest = std::max<std::int64_t>(shortest, 2);
  }
}

void weigh(float* counts, std::int64_t columns, bool only_presence, const std::vector<float>& weights) {
  for (std::int64_t i = 0; i < columns; ++i) {
    const float weight = weights.empty() ? 1.0F : weights[i];
    counts[i] = only_presence ? (counts[i] > 0 ? weight : 0.0F) : counts[i] * weight;
  }
}

std::vector<std::int64_t> words_of(const Tensor& x, std::int64_t /*tag*/) { return x.to_ints(); }
std::span<const std::string> words_of(const Tensor& x, const std::string& /*tag*/) {
  return x.values<std::string>();
}

template <class Word>
PreparedKernel counter(const PrepareContext& context, const std::vector<Word>* pool) {
  if (pool == nullptr) throw Error("there is no pool of {}", name_of(context.element(0)));
  const GramRules rules{context.get_int("min_gram_length"), context.get_int("max_gram_length"),
                        context.get_int("max_skip_count")};
  const auto tree = std::make_shared<const GramTree<Word>>(tree_of(
      *pool, context.get<ir::IntList>("ngram_counts"), context.get<ir::IntList>("ngram_indexes"), rules));
  const std::string mode = context.get_string("mode");
  const std::int64_t columns = context.output(0).dims.back();
  std::vector<float> weights;
  if (const auto* given = context.get_if<ir::FloatList>("weights"); given != nullptr && mode != "TF")
    weights = *given;
  if (!weights.empty() && std::ssize(weights) < columns) {
    throw Error("{} weights found, {} needed", weights.size(), columns);
  }
  return [tree, rules, mode, columns, weights](const RunContext& run) {
    const auto all = words_of(run.input(0), Word{});
    const std::span<const Word> words(all);
    auto* counts = run.output(0).data<float>();
    const std::int64_t rows = run.output(0).size() / columns;
    std::fill_n(counts, run.output(0).size(), 0.0F);
    for (std::int64_t row = 0; row < rows; ++row, counts += columns) {
      const std::size_t length = words.size() / rows;
      count_row(*tree, rules, words.subspan(row * length, length), counts);
      weigh(counts, columns, mode == "IDF", weights);
    }
  };
}

}  // namespace

PreparedKernel tf_idf(PrepareContext& context) {
  if (context.element(0) == DataType::String) {
    return counter(context, context.get_if<ir::StringList>("pool_strings"));
  }
  return counter(context, context.get_if<ir::IntList>("pool_int64s"));
}

}  // namespace podium::kernels
