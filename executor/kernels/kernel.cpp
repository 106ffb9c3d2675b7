// Finds the kernel of an op, and runs one op on known tensors. Those that only move weights or widen them give
// tensors that come late (ir/late_tensor.h): nobody may ever read them.
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

const KernelSpec& kernel_of(const ir::Op& op) {
  const KernelSpec* kernel = find_kernel(op.spec->domain, op.spec->name);
  if (kernel == nullptr) throw Error("there is no kernel for {}", op.spec->name);
  return *kernel;
}

// nullptr: left out.
std::vector<const Datum*> given_inputs(const ir::Op& op, std::span<const Datum> inputs) {
  std::vector<const Datum*> given(inputs.size(), nullptr);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (op.inputs[i].valid()) given[i] = &inputs[i];
  }
  return given;
}

PrepareContext context_of(const ir::Op& op, std::span<const Datum> inputs) {
  PrepareContext context(op);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    context.input_types.push_back(op.inputs[i].valid() ? ir::type_of(inputs[i]) : ir::Type{});
    context.constants.push_back(inputs[i].is_tensor() ? &inputs[i].tensor : nullptr);
  }
  context.output_types = ir::infer_outputs(op, given_inputs(op, inputs));
  return context;
}

std::vector<Datum> evaluate_now(const ir::Op& op, std::span<const Datum> inputs) {
  const KernelSpec& kernel = kernel_of(op);
  PrepareContext context = context_of(op, inputs);
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
  const PreparedKernel run = kernel.prepare(context);
  std::vector<std::byte> scratch(context.scratch_bytes + 64);
  const auto address = reinterpret_cast<std::uintptr_t>(scratch.data());
  const std::vector<const Datum*> given = given_inputs(op, inputs);
  run({given, outputs, scratch.data() + (64 - address % 64) % 64});
  return results;
}

// Weights that are transposed or of few bits: a product may take them as they were (late_tensor.h), or they
// may have been packed before (PackedStore).
bool is_late(const ir::Op& op, std::span<const Datum> inputs) {
  if (!op.is("Transpose") && !op.is("DequantizeLinear")) return false;
  const auto is_number = [](const Datum& input) {
    return input.is_tensor() && input.tensor.type() != DataType::String;
  };
  return std::ranges::all_of(inputs, is_number) &&
         inputs[0].tensor.size() >= static_cast<std::int64_t>(ir::kLateBytes / sizeof(float));
}

ir::Digest digest_of(const ir::Op& op, std::span<const Datum> inputs, ir::Digests& digests) {
  ir::Digester digester;
  digester.add(op.spec->name);
  for (const ir::Attribute& attribute : op.attributes) {
    digester.add(attribute.name);
    if (const auto* number = std::get_if<std::int64_t>(&attribute.value)) digester.add(*number);
    if (const auto* list = std::get_if<ir::IntList>(&attribute.value)) {
      for (std::int64_t number : *list) digester.add(number);
    }
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (op.inputs[i].valid()) digester.add(static_cast<std::int64_t>(i)).add(digests.of(inputs[i].tensor));
  }
  return digester.digest();
}

// What the kernel refuses, it refuses at once.
Tensor late_result(const ir::Op& op, std::span<const Datum> given) {
  const std::vector<Datum> inputs(given.begin(), given.end());
  PrepareContext context = context_of(op, inputs);
  kernel_of(op).prepare(context);
  const auto from = std::make_shared<ir::KnownOp>(ir::KnownOp{.op = op, .inputs = {}});
  for (const Datum& input : inputs) from->inputs.push_back(input.tensor);
  const auto make = [=] {
    std::vector<Datum> numbers = inputs;
    for (Datum& input : numbers) input.tensor = ir::made_for_one(input.tensor);
    return evaluate_now(op, numbers)[0].tensor;
  };
  return ir::late_tensor(
      context.output_types[0], make, [=](ir::Digests& digests) { return digest_of(op, inputs, digests); },
      from);
}

}  // namespace

std::vector<Datum> evaluate(const ir::Op& op, std::span<const Datum> inputs) {
  if (is_late(op, inputs)) return {late_result(op, inputs)};
  return evaluate_now(op, inputs);
}

}  // namespace podium::kernels
