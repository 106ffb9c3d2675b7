// Transformers as PyTorch exports them: BERT (Devlin et al. 2018) and GPT-2 (Radford et al. 2019).
// Nodes, names and shape arithmetic follow what torch.onnx writes, so that passes meet what users have:
// linear layers as MatMul and Add (GPT-2: Gemm over flattened rows), heads split by Reshape and Transpose,
// masks added or chosen by Where, and with shapes=dynamic the Shape-Gather-Unsqueeze-Concat chains.
#include <cmath>
#include <limits>

#include "ir/error.h"
#include "models/families.h"
#include "models/recipe.h"
#include "models/transformer.h"

namespace podium::models {
namespace {

using ir::DataType;
using ir::Dims;
using ir::Tensor;
using ir::ValueId;

ValueId bert_layer(Net& net, const std::string& name, ValueId x, ValueId mask, const Transformer& sizes) {
  const ValueId attended = self_attention(net, name + "/attention", x, mask, sizes);
  ValueId y = dense(net, name + "/attention/output", attended, sizes.hidden, sizes.hidden);
  y = dropped(net, name + "/attention/output/Dropout", y);
  y = net.layer_norm(name + "/attention/norm", net.op(name + "/attention/residual", "Add", {y, x}),
                     sizes.hidden);
  const ValueId inner = gelu_mlp(net, name, y, sizes);
  return net.layer_norm(name + "/norm", net.op(name + "/Add", "Add", {inner, y}), sizes.hidden);
}

ValueId table_of(Net& net, const std::string& name, std::int64_t rows, std::int64_t hidden) {
  return net.weight(name + ".weight", {rows, hidden}, 1.0, 0.01);
}

ValueId look_up(Net& net, const std::string& name, ValueId table, ValueId ids) {
  return net.op(name + "/Gather", "Gather", {table, ids}, {{"axis", std::int64_t{0}}});
}

ValueId embed(Net& net, const std::string& name, ValueId ids, std::int64_t rows, std::int64_t hidden) {
  return look_up(net, name, table_of(net, name, rows, hidden), ids);
}

// 0 where the token counts, the lowest number where it is padding.
ValueId bert_mask(Net& net, ValueId mask) {
  const bool half = net.recipe().is("type", "float16");
  const auto type = static_cast<std::int64_t>(half ? DataType::Float16 : DataType::Float);
  const ValueId wide = net.op("mask/Unsqueeze", "Unsqueeze", {mask, net.ints({1, 2})});
  const ValueId number = net.op("mask/Cast", "Cast", {wide}, {{"to", type}});
  const ValueId inverse = net.op("mask/Sub", "Sub", {net.scalar(1), number});
  return net.op("mask/Mul", "Mul",
                {inverse, net.scalar(half ? -65504.0F : std::numeric_limits<float>::lowest())});
}

// The number of tokens, as a vector of one element.
ValueId length_of(Net& net, const std::string& name, ValueId ids) {
  const ValueId shape = net.op(name + "/Shape", "Shape", {ids});
  const ValueId length =
      net.op(name + "/Gather", "Gather", {shape, net.constant(Tensor::scalar<std::int64_t>(1))});
  return net.op(name + "/Unsqueeze", "Unsqueeze", {length, net.ints({0})});
}

// As many of a table's columns as there are tokens.
ValueId first_columns(Net& net, const std::string& name, ValueId table, ValueId ids) {
  const ValueId end = length_of(net, name, ids);
  return net.op(name + "/Slice", "Slice", {table, net.ints({0}), end, net.ints({1})});
}

ValueId bert_embeddings(Net& net, ValueId table, ValueId ids, ValueId segments, const Transformer& sizes) {
  const ValueId words = look_up(net, "embeddings/word", table, ids);
  const ValueId kinds = embed(net, "embeddings/token_type", segments, 2, sizes.hidden);
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 0; i < sizes.sequence; ++i) positions.push_back(i);
  ValueId position_ids = net.constant(Tensor::of<std::int64_t>({1, sizes.sequence}, positions));
  if (net.recipe().is_dynamic()) position_ids = first_columns(net, "embeddings", position_ids, ids);
  const ValueId places = embed(net, "embeddings/position", position_ids, sizes.sequence, sizes.hidden);
  ValueId x = net.op("embeddings/Add", "Add", {words, kinds});
  x = net.op("embeddings/Add_1", "Add", {x, places});
  return dropped(net, "embeddings/Dropout", net.layer_norm("embeddings/norm", x, sizes.hidden));
}

// What a vector of the whole sequence is made of: its first token.
ValueId bert_pooled(Net& net, ValueId x, const Transformer& sizes) {
  return net.op("pooler/Tanh", "Tanh",
                {net.linear("pooler/dense", first_token(net, x), sizes.hidden, sizes.hidden)});
}

// The pooled first token, and with a loss two classes of it.
void bert_sentence_head(Net& net, ValueId x, const Transformer& sizes) {
  if (net.recipe().count("masked") != 0)
    throw Error("parameter masked: no effect with head=sentence, head=words or pretraining needed");
  const ValueId pooled = bert_pooled(net, x, sizes);
  if (!net.recipe().is("loss", "none"))
    return net.classify(net.linear("classifier", pooled, sizes.hidden, 2));
  net.output(x, "last_hidden_state");
  net.output(pooled, "pooler_output");
}

// The tokens whose words are predicted: all, or as many of a sequence as masked says, at given positions.
ValueId bert_masked(Net& net, ValueId x, const Transformer& sizes) {
  const std::int64_t masked = net.recipe().count("masked");
  if (masked == 0) return x;
  if (masked > sizes.sequence)
    throw Error("parameter masked: {} found, at most the {} tokens of a sequence needed", masked,
                sizes.sequence);
  const ValueId positions =
      net.input("masked_lm_positions", DataType::Int64, {sizes.batch, masked}, {"batch"});
  const ValueId indices = net.op("predictions/Unsqueeze", "Unsqueeze", {positions, net.ints({2})});
  return net.op("predictions/GatherND", "GatherND", {x, indices}, {{"batch_dims", std::int64_t{1}}});
}

// Scores of the words for each token: the table of the words' embeddings is the last layer, too.
ValueId bert_words(Net& net, ValueId x, ValueId table, const Transformer& sizes) {
  ValueId y = bert_masked(net, x, sizes);
  y = dense(net, "predictions/transform", y, sizes.hidden, sizes.hidden);
  y = net.layer_norm("predictions/norm", net.gelu("predictions/gelu", y), sizes.hidden);
  const ValueId turned = net.op("predictions/Transpose", "Transpose", {table}, {{"perm", ir::IntList{1, 0}}});
  const ValueId bias = net.weight("predictions.bias", {net.recipe().number("vocabulary")},
                                  static_cast<double>(sizes.hidden), 1.0);
  y = net.op("predictions/MatMul", "MatMul", {y, turned});
  return net.op("predictions/Add", "Add", {y, bias});
}

// The open dimensions of a label for each token whose word is predicted.
std::vector<std::string> token_symbols(const Net& net) {
  return {"batch", net.recipe().count("masked") == 0 ? "sequence" : ""};
}

void bert_word_head(Net& net, ValueId words) {
  if (net.recipe().is("loss", "none")) return net.output(words, "logits");
  net.output(net.cross_entropy(words, {"loss", "label", token_symbols(net)}, ClassAxis::Last), "loss");
}

// Both tasks of BERT's pre-training: words at the masked tokens, and whether one sentence follows the other.
// The loss is the sum of theirs.
void bert_pretraining_head(Net& net, ValueId x, ValueId table, const Transformer& sizes) {
  const ValueId words = bert_words(net, x, table, sizes);
  const ValueId follows = net.linear("seq_relationship", bert_pooled(net, x, sizes), sizes.hidden, 2);
  if (net.recipe().is("loss", "none")) {
    net.output(words, "prediction_logits");
    net.output(follows, "seq_relationship_logits");
    return;
  }
  const ValueId of_words =
      net.cross_entropy(words, {"loss/words", "labels", token_symbols(net)}, ClassAxis::Last);
  const ValueId of_sentences =
      net.cross_entropy(follows, {"loss/sentences", "next_sentence_label", {"batch"}}, ClassAxis::One);
  net.output(net.op("loss", "Add", {of_words, of_sentences}), "loss");
}

ValueId token_input(Net& net, const std::string& name, const Transformer& sizes) {
  return net.input(name, DataType::Int64, {sizes.batch, sizes.sequence}, {"batch", "sequence"});
}

BuiltModel bert(const Recipe& recipe) {
  Net net(recipe);
  const Transformer sizes = transformer_sizes(recipe, recipe.number("sequence"));
  const ValueId ids = token_input(net, "input_ids", sizes);
  const ValueId attention_mask = token_input(net, "attention_mask", sizes);
  const ValueId segments = token_input(net, "token_type_ids", sizes);
  const ValueId mask = bert_mask(net, attention_mask);
  const ValueId table = table_of(net, "embeddings/word", recipe.number("vocabulary"), sizes.hidden);
  ValueId x = bert_embeddings(net, table, ids, segments, sizes);
  for (std::int64_t i = 0; i < recipe.number("layers"); ++i) {
    x = bert_layer(net, fmt::format("layer{}", i), x, mask, sizes);
  }
  if (recipe.is("head", "words")) {
    bert_word_head(net, bert_words(net, x, table, sizes));
  } else if (recipe.is("head", "pretraining")) {
    bert_pretraining_head(net, x, table, sizes);
  } else if (recipe.is("head", "sentence")) {
    bert_sentence_head(net, x, sizes);
  } else {
    throw Error("parameter head: '{}' found, sentence, words or pretraining needed", recipe.word("head"));
  }
  return net.finish(20);
}

// GPT-2 keeps linear weights as [in, out] and exports them as a product over flattened rows.
ValueId gpt_dense(Net& net, const std::string& name, ValueId x, std::int64_t in, std::int64_t out,
                  const Transformer& sizes) {
  const ValueId rows = net.op(name + "/Reshape", "Reshape", {x, net.ints({-1, in})});
  const ValueId weight = net.weight(name + ".weight", {in, out}, static_cast<double>(in));
  const ValueId bias = net.weight(name + ".bias", {out}, static_cast<double>(in), 1.0);
  const ValueId y = net.op(name + "/Gemm", "Gemm", {rows, weight, bias});
  return net.op(name + "/Reshape_1", "Reshape", {y, shape_of(net, name, x, {out}, sizes)});
}

// The tanh form of GELU, in primitive ops or as one.
ValueId gpt_gelu(Net& net, const std::string& name, ValueId x) {
  if (!net.is_primitive()) return net.op(name, "Gelu", {x}, {{"approximate", std::string("tanh")}});
  const ValueId cubed = net.op(name + "/Pow", "Pow", {x, net.scalar(3)});
  const ValueId bent = net.op(name + "/Mul_1", "Mul", {cubed, net.scalar(0.044715F)});
  const ValueId sum = net.op(name + "/Add", "Add", {x, bent});
  const ValueId scaled = net.op(name + "/Mul_2", "Mul", {sum, net.scalar(0.7978845608F)});
  const ValueId shifted =
      net.op(name + "/Add_1", "Add", {net.op(name + "/Tanh", "Tanh", {scaled}), net.scalar(1)});
  return net.op(name + "/Mul_3", "Mul", {net.op(name + "/Mul", "Mul", {x, net.scalar(0.5F)}), shifted});
}

// The mask of as many tokens as there are.
ValueId gpt_mask(Net& net, ValueId ids, std::int64_t sequence, std::int64_t past) {
  const ValueId mask = net.constant(causal_mask(sequence, past));
  if (!net.recipe().is_dynamic()) return mask;
  const ValueId rows = length_of(net, "mask", ids);
  const ValueId columns = net.op("mask/Add", "Add", {rows, net.ints({past})});
  const ValueId ends = net.op("mask/Concat", "Concat", {rows, columns}, {{"axis", std::int64_t{0}}});
  return net.op("mask/Slice", "Slice", {mask, net.ints({0, 0}), ends, net.ints({2, 3})});
}

// Each of fewer heads of keys or values for all of its queries.
ValueId gpt_repeat(Net& net, const std::string& name, ValueId x, const Transformer& sizes) {
  const std::int64_t queries = sizes.heads / sizes.kv_heads;
  if (queries == 1) return x;
  const ValueId apart = net.op(name + "/Unsqueeze", "Unsqueeze", {x, net.ints({2})});
  const ValueId many = net.op(name + "/Expand", "Expand", {apart, net.ints({1, 1, queries, 1, 1})});
  return net.op(name + "/Reshape_2", "Reshape", {many, net.ints({0, sizes.heads, -1, sizes.head()})});
}

struct GptState {
  ValueId mask;
  ValueId lowest;
  std::int64_t past;
};

ValueId gpt_attention(Net& net, const std::string& name, ValueId x, const GptState& state,
                      const Transformer& sizes, int layer) {
  const std::int64_t kv = sizes.kv_heads * sizes.head();
  const ValueId packed = gpt_dense(net, name + "/c_attn", x, sizes.hidden, sizes.hidden + 2 * kv, sizes);
  const std::vector<ir::Attribute> last{{"axis", std::int64_t{2}}};
  const auto parts =
      kv == sizes.hidden
          ? net.ops(name + "/Split", "Split", {packed}, 3,
                    {{"axis", std::int64_t{2}}, {"num_outputs", std::int64_t{3}}})
          : net.ops(name + "/Split", "Split", {packed, net.ints({sizes.hidden, kv, kv})}, 3, last);
  const ValueId query = split_heads(net, name + "/query", parts[0], sizes.heads, sizes, {0, 2, 1, 3});
  ValueId key = split_heads(net, name + "/key", parts[1], sizes.kv_heads, sizes, {0, 2, 1, 3});
  ValueId value = split_heads(net, name + "/value", parts[2], sizes.kv_heads, sizes, {0, 2, 1, 3});
  if (state.past > 0) {
    const Dims dims{sizes.batch, sizes.kv_heads, state.past, sizes.head()};
    const ValueId past_key = net.input(fmt::format("past_key_{}", layer), DataType::Float, dims, {"batch"});
    const ValueId past_value =
        net.input(fmt::format("past_value_{}", layer), DataType::Float, dims, {"batch"});
    key = net.op(name + "/Concat", "Concat", {past_key, key}, {{"axis", std::int64_t{2}}});
    value = net.op(name + "/Concat_1", "Concat", {past_value, value}, {{"axis", std::int64_t{2}}});
    net.output(key, fmt::format("present_key_{}", layer));
    net.output(value, fmt::format("present_value_{}", layer));
  }
  key = gpt_repeat(net, name + "/key", key, sizes);
  value = gpt_repeat(net, name + "/value", value, sizes);
  const ValueId turned = net.op(name + "/Transpose", "Transpose", {key}, {{"perm", ir::IntList{0, 1, 3, 2}}});
  ValueId scores = net.op(name + "/MatMul", "MatMul", {query, turned});
  const auto head_size = static_cast<float>(sizes.hidden / sizes.heads);
  scores = net.op(name + "/Div", "Div", {scores, net.scalar(std::sqrt(head_size))});
  scores = net.op(name + "/Where", "Where", {state.mask, scores, state.lowest});
  ValueId weights = net.op(name + "/Softmax", "Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  weights = dropped(net, name + "/Dropout", weights);
  const ValueId context = net.op(name + "/MatMul_1", "MatMul", {weights, value});
  const ValueId y = gpt_dense(net, name + "/c_proj", merge_heads(net, name + "/merge", context, sizes),
                              sizes.hidden, sizes.hidden, sizes);
  return dropped(net, name + "/Dropout_1", y);
}

ValueId gpt_layer(Net& net, int layer, ValueId x, const GptState& state, const Transformer& sizes) {
  const std::string name = fmt::format("h{}", layer);
  const ValueId attended = gpt_attention(net, name + "/attn", net.layer_norm(name + "/ln_1", x, sizes.hidden),
                                         state, sizes, layer);
  x = net.op(name + "/Add", "Add", {attended, x});
  ValueId inner = net.layer_norm(name + "/ln_2", x, sizes.hidden);
  inner = gpt_dense(net, name + "/mlp/c_fc", inner, sizes.hidden, sizes.inner, sizes);
  inner = gpt_gelu(net, name + "/mlp/act", inner);
  inner = gpt_dense(net, name + "/mlp/c_proj", inner, sizes.inner, sizes.hidden, sizes);
  inner = dropped(net, name + "/mlp/Dropout", inner);
  return net.op(name + "/Add_1", "Add", {x, inner});
}

BuiltModel gpt2(const Recipe& recipe) {
  Net net(recipe);
  Transformer sizes = transformer_sizes(recipe, recipe.number("sequence"));
  if (recipe.count("kv_heads") != 0) sizes.kv_heads = recipe.number("kv_heads");
  if (sizes.heads % sizes.kv_heads != 0)
    throw Error("parameter kv_heads: {} found, a divisor of heads {} needed", sizes.kv_heads, sizes.heads);
  const std::int64_t past = recipe.count("past");
  const ValueId ids = token_input(net, "input_ids", sizes);
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 0; i < sizes.sequence; ++i) positions.push_back(past + i);
  ValueId places = net.constant(Tensor::of<std::int64_t>({1, sizes.sequence}, positions));
  if (recipe.is_dynamic()) places = first_columns(net, "positions", places, ids);
  const std::int64_t vocabulary = recipe.number("vocabulary");
  const ValueId table = net.weight("wte.weight", {vocabulary, sizes.hidden}, 1.0, 0.01);
  const ValueId words = net.op("wte/Gather", "Gather", {table, ids}, {{"axis", std::int64_t{0}}});
  ValueId x = net.op("Add", "Add", {words, embed(net, "wpe", places, past + sizes.sequence, sizes.hidden)});
  x = dropped(net, "Dropout", x);
  const bool half = recipe.is("type", "float16");
  const GptState state{gpt_mask(net, ids, sizes.sequence, past),
                       net.scalar(half ? -65504.0F : std::numeric_limits<float>::lowest()), past};
  for (std::int64_t i = 0; i < recipe.number("layers"); ++i)
    x = gpt_layer(net, static_cast<int>(i), x, state, sizes);
  x = net.layer_norm("ln_f", x, sizes.hidden);
  if (recipe.is("head", "tied")) {
    const ValueId turned = net.op("lm_head/Transpose", "Transpose", {table}, {{"perm", ir::IntList{1, 0}}});
    x = net.op("lm_head/MatMul", "MatMul", {x, turned});
  } else if (recipe.is("head", "untied")) {
    const ValueId weight =
        net.weight("lm_head.weight", {sizes.hidden, vocabulary}, static_cast<double>(sizes.hidden));
    x = net.op("lm_head/MatMul", "MatMul", {x, weight});
  } else {
    throw Error("parameter head: '{}' found, tied or untied needed", recipe.word("head"));
  }
  net.classify(x, ClassAxis::Last);
  return net.finish(20);
}

}  // namespace

std::vector<ModelSpec> language_models() {
  const ParameterSpec batch{"batch", "1", "sequences at once"};
  const ParameterSpec sequence{"sequence", "128", "tokens of a sequence"};
  const ParameterSpec layers{"layers", "12", "transformer layers"};
  const ParameterSpec hidden{"hidden", "768", "features of a token"};
  const ParameterSpec heads{"heads", "12", "attention heads"};
  const ParameterSpec dropout{"dropout", "0",
                              "share of features and attention weights that Dropout nodes drop"};
  const ParameterSpec shapes = shapes_parameter(
      "static, or dynamic: batch and sequence are open, with the exporter's shape arithmetic");
  return {
      {"bert",
       "BERT encoder",
       {layers,
        hidden,
        heads,
        sequence,
        batch,
        {"vocabulary", "30522", "words"},
        {"head", "sentence",
         "sentence: a vector of the whole; words: one for each token, by the embeddings' table; pretraining: both, "
         "the sentence's as two classes"},
        {"masked", "0",
         "tokens of a sequence whose words are predicted, at positions that are given; 0: all"},
        dropout,
        shapes},
       bert},
      {"gpt2",
       "GPT-2 decoder",
       {layers,
        hidden,
        heads,
        sequence,
        batch,
        {"vocabulary", "50257", "words"},
        {"kv_heads", "0", "heads of keys and values, each for as many queries; 0: as many as heads"},
        {"head", "tied", "tied: the words' scores by the embeddings' table, or untied"},
        {"past", "0", "tokens whose keys and values are given"},
        dropout,
        shapes},
       gpt2},
  };
}

}  // namespace podium::models
