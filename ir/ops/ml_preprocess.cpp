// Ops of ai.onnx.ml that prepare features: encoders, scalers, maps to tensors and back.
// A feature row is the last axis; lists of parameters hold one number or one per column. An encoder's types
// follow from which of its lists is there. Rows are built from one plain row by small functions that add
// outputs, attributes and gradients; maps refuse a gradient, although their numbers are smooth.
#include <algorithm>

#include "ir/ops/common.h"
#include "ir/ops/families.h"
#include "ir/ops/ml.h"

namespace podium::ir {
namespace {

constexpr TypeSet kSingle{DataType::Float};
constexpr std::string_view kMaps = "maps carry no gradients";

void like_input(InferContext& context, DataType element) {
  Type type = context.input(0);
  type.element = element;
  context.set_output(0, std::move(type));
}

void float_like_input(InferContext& context) { like_input(context, DataType::Float); }

// One dimension becomes a row of two.
void infer_extractor(InferContext& context) {
  if (!context.has_rank(0)) return context.set_output_element(0, context.element(0));
  Dims dims = context.dims(0);
  if (dims.empty()) throw Error("X is a scalar, one dimension or more needed");
  if (dims.size() == 1) dims.insert(dims.begin(), 1);
  dims.back() = context.has_rank(1) ? context.input(1).element_count() : kUnknown;
  context.set_output(0, context.element(0), std::move(dims));
}

void infer_category(InferContext& context) {
  const auto strings = ml_length(context, "cats_strings");
  const auto ints = ml_length(context, "cats_int64s");
  if (strings != ints) throw Error("cats_strings has {} items and cats_int64s {}", strings, ints);
  like_input(context, context.element(0) == DataType::String ? DataType::Int64 : DataType::String);
}

void check_values(const InferContext& context, std::string_view name) {
  const std::int64_t count = ml_length(context, name);
  const std::int64_t columns =
      context.has_rank(0) && context.input(0).rank() > 0 ? context.dims(0).back() : kUnknown;
  if (count > 1 && columns != kUnknown && count != columns) {
    throw Error("{} has {} items, 1 or {} needed", name, count, columns);
  }
}

void infer_imputer(InferContext& context) {
  check_values(context, is_float(context.element(0)) ? "imputed_value_floats" : "imputed_value_int64s");
  same_as_input(context);
}

void infer_scaler(InferContext& context) {
  check_values(context, "offset");
  check_values(context, "scale");
  float_like_input(context);
}

void infer_one_hot_encoder(InferContext& context) {
  const std::int64_t strings = ml_length(context, "cats_strings");
  const std::int64_t ints = ml_length(context, "cats_int64s");
  if ((strings > 0) == (ints > 0))
    throw Error("cats_strings and cats_int64s have {} and {} items", strings, ints);
  if (!context.has_rank(0)) return context.set_output_element(0, DataType::Float);
  Dims dims = context.dims(0);
  dims.push_back(std::max(strings, ints));
  context.set_output(0, DataType::Float, std::move(dims));
}

// The type of the one list of values that is there.
DataType label_type(const InferContext& context) {
  if (const auto* tensor = context.get_if<Tensor>("values_tensor")) return tensor->type();
  if (ml_length(context, "values_strings") > 0) return DataType::String;
  if (ml_length(context, "values_int64s") > 0) return DataType::Int64;
  if (ml_length(context, "values_floats") > 0) return DataType::Float;
  throw Error("there are no values");
}

void infer_label_encoder(InferContext& context) {
  const DataType label = label_type(context);
  const auto* fallback = context.get_if<Tensor>("default_tensor");
  if (fallback != nullptr && fallback->type() != label)
    throw Error("default_tensor is {}, {} needed as the values are", name_of(fallback->type()),
                name_of(label));
  like_input(context, label);
}

// An input of one dimension is a column.
void infer_vectorizer(InferContext& context) {
  const auto* given = context.get_if<IntList>("inputdimensions");
  if (given != nullptr && given->size() != context.input_count()) {
    throw Error("inputdimensions has {} items, {} needed", given->size(), context.input_count());
  }
  std::int64_t rows = kUnknown;
  std::int64_t columns = 0;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    std::int64_t own = kUnknown;
    if (context.has_rank(i)) {
      const Dims& dims = context.dims(i);
      if (dims.size() != 1 && dims.size() != 2)
        throw Error("input {} is {}, one or two dimensions needed", i, to_string(dims));
      if (rows != kUnknown && dims[0] != kUnknown && dims[0] != rows) {
        throw Error("input {} has {} rows, {} needed", i, dims[0], rows);
      }
      if (dims[0] != kUnknown) rows = dims[0];
      own = dims.size() == 2 ? dims[1] : 1;
    }
    if (given != nullptr) own = (*given)[i];
    if (given != nullptr && own < 0) throw Error("inputdimensions has {}, which is negative", own);
    columns = plus(columns, own);
  }
  context.set_output(0, DataType::Float, {rows, columns});
}

const Type& map_type(const InferContext& context) {
  const Type& type = context.input(0);
  if (type.kind != Kind::Map || !type.inner) throw Error("input is {}, a map needed", to_string(type));
  return type;
}

DataType cast_target(const std::string& name) {
  if (name == "TO_FLOAT") return DataType::Float;
  if (name == "TO_STRING") return DataType::String;
  if (name == "TO_INT64") return DataType::Int64;
  throw Error("cast_to is \"{}\", TO_FLOAT, TO_STRING or TO_INT64 needed", name);
}

void infer_cast_map(InferContext& context) {
  const DataType keys = map_type(context).element;
  if (keys != DataType::Int64) throw Error("the map has keys of {}, int64 needed", name_of(keys));
  const std::string& form = context.get_string("map_form");
  if (form != "DENSE" && form != "SPARSE") throw Error("map_form is \"{}\", DENSE or SPARSE needed", form);
  const std::int64_t columns = form == "SPARSE" ? ml_count(context, "max_map") : kUnknown;
  context.set_output(0, cast_target(context.get_string("cast_to")), {1, columns});
}

void infer_dict_vectorizer(InferContext& context) {
  const Type& map = map_type(context);
  if (map.element != DataType::String && map.element != DataType::Int64)
    throw Error("the map has keys of {}, string or int64 needed", name_of(map.element));
  const auto name = map.element == DataType::String ? "string_vocabulary" : "int64_vocabulary";
  const std::int64_t words = ml_length(context, name);
  if (words == 0) throw Error("{} is needed for keys of {}", name, name_of(map.element));
  context.set_output(0, map.inner->element, {words});
}

void infer_zip_map(InferContext& context) {
  const std::int64_t strings = ml_length(context, "classlabels_strings");
  const std::int64_t ints = ml_length(context, "classlabels_int64s");
  if ((strings > 0) == (ints > 0))
    throw Error("there are {} labels of strings and {} of integers", strings, ints);
  const std::int64_t columns = ml_columns(context);
  if (columns != kUnknown && columns != strings + ints) {
    throw Error("there are {} labels, {} needed", strings + ints, columns);
  }
  const DataType key = strings > 0 ? DataType::String : DataType::Int64;
  context.set_output(0, Type::sequence(Type::map(key, Type::tensor(DataType::Float))));
}

OpSpec row(std::string_view name, int since, TypeSet from, InferFunction infer) {
  return {.name = name,
          .domain = kMlDomain,
          .since = since,
          .inputs = {{"X"}},
          .outputs = {{"Y"}},
          .types = {{'T', from}},
          .infer = infer,
          .work = work_of_moving,
          .no_gradient = kFlat};
}

OpSpec with_output(OpSpec spec, TypeSet to) {
  spec.outputs = {{"Y", 'Y'}};
  spec.types.push_back({'Y', to});
  return spec;
}

OpSpec with_attributes(OpSpec spec, std::vector<AttributeSpec> attributes) {
  spec.attributes = std::move(attributes);
  return spec;
}

// Maps and sequences of them have no element types to be looked at.
OpSpec with_any_kind(OpSpec spec, char letter) {
  for (TypeConstraint& constraint : spec.types) {
    if (constraint.letter == letter) constraint.any_kind = true;
  }
  return spec;
}

OpSpec smooth(OpSpec spec) {
  spec.no_gradient = {};
  return spec;
}

// Nothing flows through a map, although its numbers are smooth.
OpSpec refusing(OpSpec spec) {
  spec.no_gradient = kMaps;
  spec.refuses_gradient = true;
  return spec;
}

OpSpec extractor() {
  OpSpec spec = row("ArrayFeatureExtractor", 1, kMlNumbers | kString, infer_extractor);
  spec.inputs.push_back({"Y", 'I'});
  spec.outputs = {{"Z"}};
  spec.types.push_back({'I', kInt64});
  return smooth(std::move(spec));
}

OpSpec label_encoder() {
  constexpr TypeSet kTypes = kMlNumbers | TypeSet{DataType::String, DataType::Int16};
  std::vector<AttributeSpec> attributes{with_default("default_float", -0.0F),
                                        with_default("default_int64", -1),
                                        with_default("default_string", std::string("_Unused")),
                                        may_have("default_tensor", AttributeKind::Tensor)};
  for (const char* name : {"keys_floats", "values_floats"})
    attributes.push_back(may_have(name, AttributeKind::Floats));
  for (const char* name : {"keys_int64s", "values_int64s"})
    attributes.push_back(may_have(name, AttributeKind::Ints));
  for (const char* name : {"keys_strings", "values_strings"}) {
    attributes.push_back(may_have(name, AttributeKind::Strings));
  }
  for (const char* name : {"keys_tensor", "values_tensor"})
    attributes.push_back(may_have(name, AttributeKind::Tensor));
  return with_attributes(with_output(row("LabelEncoder", 4, kTypes, infer_label_encoder), kTypes),
                         std::move(attributes));
}

OpSpec vectorizer() {
  OpSpec spec = with_output(row("FeatureVectorizer", 1, kMlNumbers, infer_vectorizer), kSingle);
  spec.inputs = {{"X", 'T', Formal::Variadic, true}};
  return with_attributes(smooth(std::move(spec)), {may_have("inputdimensions", AttributeKind::Ints)});
}

std::vector<OpSpec> feature_rows() {
  return {
      extractor(),
      with_attributes(in_place(kFirstInput, row("Binarizer", 1, kMlNumbers, same_as_input)),
                      {with_default("threshold", 0.0F)}),
      vectorizer(),
      with_attributes(smooth(in_place(kFirstInput, row("Imputer", 1, kMlNumbers, infer_imputer))),
                      {may_have("imputed_value_floats", AttributeKind::Floats),
                       may_have("imputed_value_int64s", AttributeKind::Ints),
                       with_default("replaced_value_float", 0.0F), with_default("replaced_value_int64", 0)}),
      with_attributes(smooth(with_output(row("Normalizer", 1, kMlNumbers, float_like_input), kSingle)),
                      {with_default("norm", std::string("MAX"))}),
      with_attributes(
          with_output(row("OneHotEncoder", 1, kMlNumbers | kString, infer_one_hot_encoder), kSingle),
          {may_have("cats_int64s", AttributeKind::Ints), may_have("cats_strings", AttributeKind::Strings),
           with_default("zeros", 1)}),
      with_attributes(smooth(with_output(row("Scaler", 1, kMlNumbers, infer_scaler), kSingle)),
                      {may_have("offset", AttributeKind::Floats), may_have("scale", AttributeKind::Floats)}),
  };
}

std::vector<OpSpec> label_and_map_rows() {
  constexpr TypeSet kMapValues = kMlLabels | TypeSet{DataType::Float, DataType::Double};
  return {
      with_attributes(
          with_output(row("CategoryMapper", 1, kMlLabels, infer_category), kMlLabels),
          {may_have("cats_int64s", AttributeKind::Ints), may_have("cats_strings", AttributeKind::Strings),
           with_default("default_int64", -1), with_default("default_string", std::string("_Unused"))}),
      label_encoder(),
      with_attributes(refusing(with_any_kind(
                          with_output(row("CastMap", 1, kMapValues, infer_cast_map), kMapValues), 'T')),
                      {with_default("cast_to", std::string("TO_FLOAT")),
                       with_default("map_form", std::string("DENSE")), with_default("max_map", 1)}),
      with_attributes(
          refusing(with_any_kind(
              with_output(row("DictVectorizer", 1, kMapValues, infer_dict_vectorizer), kMapValues), 'T')),
          {may_have("int64_vocabulary", AttributeKind::Ints),
           may_have("string_vocabulary", AttributeKind::Strings)}),
      with_attributes(
          refusing(with_any_kind(with_output(row("ZipMap", 1, kSingle, infer_zip_map), kSingle), 'Y')),
          {may_have("classlabels_int64s", AttributeKind::Ints),
           may_have("classlabels_strings", AttributeKind::Strings)}),
  };
}

}  // namespace

std::span<const OpSpec> ml_preprocess_ops() {
  static const std::vector<OpSpec> kRows = [] {
    std::vector<OpSpec> rows = feature_rows();
    for (OpSpec& spec : label_and_map_rows()) rows.push_back(spec);
    return family({.category = Category::Plain, .samples = rows_of_features}, std::move(rows));
  }();
  return kRows;
}

}  // namespace podium::ir
