// Lookups hash the keys once, when the kernel is prepared (Positions: the first of equal keys, NaN equals
// NaN). LabelEncoder, CategoryMapper and OneHotEncoder look up every element; DictVectorizer looks up a map's
// keys. A map is a datum of two tensors, keys and values; CastMap orders it by key or spreads it by key,
// ZipMap makes one per row.
#include "executor/kernels/ml/ml_maps.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "executor/kernels/cast.h"
#include "executor/kernels/ml/ml.h"
#include "executor/kernels/tools/dispatch.h"

namespace podium::kernels {
namespace {

using ir::FloatList;
using ir::IntList;
using ir::StringList;

template <class T>
Tensor tensor_of(const std::vector<T>& values) {
  return Tensor::of<T>({std::ssize(values)}, values);
}

// The list of keys or values that is there, of whatever type; undefined when there is none.
Tensor list_named(const ir::TypedOp& op, const std::string& prefix) {
  if (const auto* tensor = op.get_if<Tensor>(prefix + "_tensor")) return *tensor;
  if (const auto* list = op.get_if<StringList>(prefix + "_strings"); list && !list->empty())
    return tensor_of(*list);
  if (const auto* list = op.get_if<IntList>(prefix + "_int64s"); list && !list->empty())
    return tensor_of(*list);
  if (const auto* list = op.get_if<FloatList>(prefix + "_floats"); list && !list->empty())
    return tensor_of(*list);
  return {};
}

// Numbers or strings as another type, e.g. keys given as int64 for an input of int32.
Tensor converted(const Tensor& from, DataType type) {
  if (from.type() == type) return from;
  if (from.type() == DataType::String || type == DataType::String) {
    throw Error("keys are {} and the input is {}", name_of(from.type()), name_of(type));
  }
  Tensor to(type, from.dims());
  convert_numbers(from, to, 0, from.size(), {});
  return to;
}

// The position of each key; the first of equal ones, NaN equals NaN.
template <class Key>
class Positions {
 public:
  explicit Positions(const Tensor& keys) {
    for (const Key& key : keys.values<Key>()) {
      if (is_nan(key) && nan_ < 0) nan_ = next_;
      positions_.emplace(key, next_++);
    }
  }
  /// -1 when it is not there.
  std::int64_t find(const Key& key) const {
    if (is_nan(key)) return nan_;
    const auto found = positions_.find(key);
    return found == positions_.end() ? -1 : found->second;
  }

 private:
  static bool is_nan(const Key& key) {
    if constexpr (std::is_floating_point_v<Key>) return std::isnan(key);
    return false;
  }
  std::unordered_map<Key, std::int64_t> positions_;
  std::int64_t next_ = 0;
  std::int64_t nan_ = -1;
};

// y = values[position of x among keys], or the default.
template <class Key, class Value>
PreparedKernel lookup(const Tensor& keys, Tensor values, Value fallback) {
  if (keys.size() != values.size())
    throw Error("there are {} keys and {} values", keys.size(), values.size());
  return [positions = Positions<Key>(keys), values = std::move(values), fallback](const RunContext& run) {
    const auto x = run.input(0).values<Key>();
    const auto y = run.output(0).values<Value>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::int64_t at = positions.find(x[i]);
      y[i] = at < 0 ? fallback : values.data<Value>()[at];
    }
  };
}

template <class Value>
Value default_of(const ir::TypedOp& op) {
  if (const auto* tensor = op.get_if<Tensor>("default_tensor"); tensor && tensor->size() > 0) {
    return *tensor->data<Value>();
  }
  if constexpr (std::is_same_v<Value, std::string>)
    return op.get_string("default_string");
  else if constexpr (std::is_floating_point_v<Value>)
    return op.get_float("default_float");
  else
    return static_cast<Value>(op.get_int("default_int64"));
}

PreparedKernel label_encoder(PrepareContext& context) {
  const Tensor keys = list_named(context, "keys");
  const Tensor values = list_named(context, "values");
  if (!keys.defined()) throw Error("there are no keys");
  const Tensor own_keys = converted(keys, context.element(0));
  return dispatch<std::string, std::int64_t, std::int32_t, std::int16_t, float, double>(
      context.element(0), [&](auto key) {
        return dispatch<std::string, std::int64_t, std::int32_t, std::int16_t, float, double>(
            values.type(), [&](auto value) {
              using Value = decltype(value);
              return lookup<decltype(key), Value>(own_keys, values, default_of<Value>(context));
            });
      });
}

PreparedKernel category_mapper(PrepareContext& context) {
  const Tensor strings = tensor_of(list_or_empty<StringList>(context, "cats_strings"));
  const Tensor ints = tensor_of(list_or_empty<IntList>(context, "cats_int64s"));
  if (context.element(0) == DataType::String) {
    return lookup<std::string, std::int64_t>(strings, ints, context.get_int("default_int64"));
  }
  return lookup<std::int64_t, std::string>(ints, strings, context.get_string("default_string"));
}

template <class Key>
PreparedKernel one_hot(const Tensor& categories, bool zeros_allowed) {
  return [positions = Positions<Key>(categories), zeros_allowed](const RunContext& run) {
    const Tensor& x = run.input(0);
    Tensor own = x;
    if (x.type() != ir::data_type_of<Key>) own = converted(x, ir::data_type_of<Key>);
    float* y = run.output(0).data<float>();
    const std::int64_t width = run.output(0).dims().back();
    std::fill_n(y, run.output(0).size(), 0.0F);
    for (std::int64_t i = 0; i < own.size(); ++i) {
      const std::int64_t at = positions.find(own.data<Key>()[i]);
      if (at >= 0) y[i * width + at] = 1;
      if (at < 0 && !zeros_allowed) throw Error("element {} is of no category", i);
    }
  };
}

// Floats belong to the category of their whole part.
PreparedKernel one_hot_encoder(PrepareContext& context) {
  const bool zeros = context.get_int("zeros") != 0;
  const auto strings = list_or_empty<StringList>(context, "cats_strings");
  if ((context.element(0) == DataType::String) == strings.empty()) {
    throw Error("the input is {}, which the categories are not", name_of(context.element(0)));
  }
  if (!strings.empty()) return one_hot<std::string>(tensor_of(strings), zeros);
  return one_hot<std::int64_t>(tensor_of(list_or_empty<IntList>(context, "cats_int64s")), zeros);
}

// One element of a map's values as an element of the output.
void cast_one(const Tensor& from, std::int64_t i, Tensor& to, std::int64_t at) {
  const auto part = [](const Tensor& tensor, std::int64_t index) {
    auto* bytes = static_cast<std::byte*>(const_cast<void*>(tensor.raw()));
    return Tensor::view(tensor.type(), {}, bytes + index * storage_bytes(tensor.type()));
  };
  const Tensor source = part(from, i);
  Tensor target = part(to, at);
  if (from.type() == to.type()) {
    if (from.type() == DataType::String)
      *target.data<std::string>() = *source.data<std::string>();
    else
      convert_numbers(source, target, 0, 1, {});
  } else if (from.type() == DataType::String) {
    parse_numbers(source, target, {});
  } else if (to.type() == DataType::String) {
    print_numbers(source, target);
  } else {
    convert_numbers(source, target, 0, 1, {});
  }
}

Tensor zeros_of(DataType type, Dims dims) {
  Tensor tensor(type, std::move(dims));
  if (type != DataType::String)
    std::fill_n(static_cast<std::byte*>(tensor.raw()), tensor.bytes(), std::byte{0});
  return tensor;
}

struct MapView {
  const Tensor& keys;
  const Tensor& values;
};
MapView map_of(const Datum& datum) { return {(*datum.items)[0].tensor, (*datum.items)[1].tensor}; }

// Dense: the values in the order of their keys. Sparse: each at the index that its key is.
PreparedKernel cast_map(PrepareContext& context) {
  const bool sparse = context.get_string("map_form") == "SPARSE";
  const std::int64_t width = context.get_int("max_map");
  const std::string& name = context.get_string("cast_to");
  const DataType type = name == "TO_FLOAT"   ? DataType::Float
                        : name == "TO_INT64" ? DataType::Int64
                                             : DataType::String;
  return [sparse, width, type](const RunContext& run) {
    const auto [keys, values] = map_of(run.datum(0));
    const auto key = keys.values<std::int64_t>();
    std::vector<std::int64_t> order(key.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [key](auto a, auto b) { return key[a] < key[b]; });
    Tensor y = zeros_of(type, {1, sparse ? width : std::ssize(key)});
    for (std::int64_t i = 0; i < std::ssize(order); ++i) {
      const std::int64_t at = sparse ? key[order[i]] : i;
      if (sparse && (at < 0 || at >= width)) throw Error("key {} is outside [0, {})", at, width);
      cast_one(values, order[i], y, at);
    }
    run.set(0, std::move(y));
  };
}

template <class Key>
PreparedKernel dict_vectorizer_of(const Tensor& vocabulary) {
  return [positions = Positions<Key>(vocabulary), size = vocabulary.size()](const RunContext& run) {
    const auto [keys, values] = map_of(run.datum(0));
    Tensor y = zeros_of(values.type(), {size});
    for (std::int64_t i = 0; i < keys.size(); ++i) {
      const std::int64_t at = positions.find(keys.data<Key>()[i]);
      if (at >= 0) cast_one(values, i, y, at);
    }
    run.set(0, std::move(y));
  };
}

PreparedKernel dict_vectorizer(PrepareContext& context) {
  if (context.element(0) == DataType::String) {
    return dict_vectorizer_of<std::string>(
        tensor_of(list_or_empty<StringList>(context, "string_vocabulary")));
  }
  return dict_vectorizer_of<std::int64_t>(tensor_of(list_or_empty<IntList>(context, "int64_vocabulary")));
}

PreparedKernel zip_map(PrepareContext& context) {
  const auto strings = list_or_empty<StringList>(context, "classlabels_strings");
  const Tensor keys =
      strings.empty() ? tensor_of(list_or_empty<IntList>(context, "classlabels_int64s")) : tensor_of(strings);
  return [keys](const RunContext& run) {
    const Tensor& x = run.input(0);
    const std::int64_t width = keys.size();
    const std::int64_t rows = x.rank() == 2 ? x.dim(0) : 1;
    std::vector<Datum> maps;
    for (std::int64_t row = 0; row < rows; ++row) {
      Tensor values(DataType::Float, {width});
      std::copy_n(x.data<float>() + row * width, width, values.data<float>());
      maps.push_back(Datum::map(keys, std::move(values)));
    }
    run.set(0, Datum::sequence(std::move(maps)));
  };
}

}  // namespace

std::span<const KernelSpec> ml_map_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "LabelEncoder", .prepare = label_encoder, .domain = "ai.onnx.ml"},
      {.name = "CategoryMapper", .prepare = category_mapper, .domain = "ai.onnx.ml"},
      {.name = "OneHotEncoder", .prepare = one_hot_encoder, .domain = "ai.onnx.ml"},
      {.name = "CastMap", .prepare = cast_map, .domain = "ai.onnx.ml"},
      {.name = "DictVectorizer", .prepare = dict_vectorizer, .domain = "ai.onnx.ml"},
      {.name = "ZipMap", .prepare = zip_map, .domain = "ai.onnx.ml"},
  };
  return kKernels;
}

}  // namespace podium::kernels
