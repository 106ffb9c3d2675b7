#include "executor/kernels/tools/kernel.h"

#include <algorithm>
#include <map>

#include "executor/kernels/families.h"
#include "executor/kernels/tools/gives_nothing.h"
#include "ir/late_tensor.h"
#include "ir/zero_tensor.h"

namespace podium::kernels {

BodyRunner PrepareContext::prepare_body(std::string_view attribute) const {
  IR_CHECK(body_preparer, "nobody can run the bodies of {}", op.name);
  const std::string where(attribute);
  try {
    return [where, runner = body_preparer(*get<ir::Body>(attribute))](std::span<const Datum> inputs) {
      try {
        return runner(inputs);
      } catch (const Error& error) {
        throw error.at(where);
      }
    };
  } catch (const Error& error) {
    // The body may never run: a branch that is not taken, a loop of no trips.
    return [failure = error.at(where)](std::span<const Datum>) -> std::vector<Datum> { throw failure; };
  }
}

const KernelSpec* find_kernel(std::string_view domain, std::string_view name) {
  static const auto by_name = [] {
    std::map<std::pair<std::string_view, std::string_view>, const KernelSpec*> index;
    for (const auto& family : kernel_families()) {
      for (const KernelSpec& spec : family()) {
        const bool is_new = index.emplace(std::pair{spec.domain, spec.name}, &spec).second;
        IR_CHECK(is_new, "two kernels for {} {}", spec.domain, spec.name);
      }
    }
    return index;
  }();
  const auto found = by_name.find({domain, name});
  return found == by_name.end() ? nullptr : found->second;
}

namespace {

// A zero as large as a table of words is what gradients are scattered into: it takes neither memory nor time.
bool is_expanded_zero(const ir::Op& op, std::span<const Datum> inputs) {
  if (op.spec->name != "Expand" || !op.spec->domain.empty() || !inputs[0].is_tensor()) return false;
  const Tensor& given = inputs[0].tensor;
  if (given.size() != 1 || given.type() == DataType::String) return false;
  const auto* bytes = static_cast<const std::byte*>(given.raw());
  return std::all_of(bytes, bytes + given.bytes(), [](std::byte byte) { return byte == std::byte{0}; });
}

std::vector<Datum> evaluate_now(const ir::Op& op, std::span<const Datum> inputs) {
  const KernelSpec* kernel = find_kernel(op.spec->domain, op.spec->name);
  if (kernel == nullptr) throw Error("there is no kernel for {}", op.spec->name);
  std::vector<const Datum*> pointers(inputs.size(), nullptr);
  PrepareContext context(op);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (op.inputs[i].valid()) pointers[i] = &inputs[i];
    context.input_types.push_back(op.inputs[i].valid() ? ir::type_of(inputs[i]) : ir::Type{});
    context.constants.push_back(inputs[i].is_tensor() ? &inputs[i].tensor : nullptr);
  }
  context.output_types = ir::infer_outputs(op, pointers);
  if (const ir::Type& type = context.output_types[0]; is_expanded_zero(op, inputs) && type.is_static())
    return {Datum(ir::zeros(type.element, type.dims))};

  std::vector<Datum> results(op.outputs.size());
  std::vector<Datum*> outputs(op.outputs.size(), nullptr);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!op.outputs[i].valid()) continue;
    const ir::Type& type = context.output_types[i];
    if (type.is_static()) results[i] = Tensor(type.element, type.dims);
    outputs[i] = &results[i];
  }
  if (gives_nothing(op, context.output_types)) return results;
  const PreparedKernel run = kernel->prepare(context);
  std::vector<std::byte> scratch(context.scratch_bytes + 64);
  const auto address = reinterpret_cast<std::uintptr_t>(scratch.data());
  run({pointers, outputs, scratch.data() + (64 - address % 64) % 64});
  return results;
}

// Weights that a product takes transposed, and that may have been packed before (PackedStore).
bool is_late(const ir::Op& op, std::span<const Datum> inputs) {
  return op.is("Transpose") && inputs[0].is_tensor() && inputs[0].tensor.type() != DataType::String &&
         inputs[0].tensor.bytes() >= ir::kLateBytes;
}

Tensor transposed_late(const ir::Op& op, const Datum& given) {
  const Datum* const input = &given;
  const ir::Type type = ir::infer_outputs(op, {&input, 1})[0];
  return ir::late_tensor(
      type,
      [=] {
        return evaluate_now(op, {&given, 1})[0].tensor;
      },
      [=](ir::Digests& digests) {
        ir::Digester digester;
        digester.add("Transpose").add(digests.of(given.tensor));
        const ir::AttributeValue* perm = ir::find_attribute(op, "perm");
        if (perm == nullptr) return digester.digest();
        for (std::int64_t axis : std::get<ir::IntList>(*perm)) digester.add(axis);
        return digester.digest();
      });
}

}  // namespace

std::vector<Datum> evaluate(const ir::Op& op, std::span<const Datum> inputs) {
  if (is_late(op, inputs)) return {transposed_late(op, inputs[0])};
  return evaluate_now(op, inputs);
}

}  // namespace podium::kernels
