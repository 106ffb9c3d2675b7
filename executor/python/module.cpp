// The module podium._podium: what the Python files of the package are written over. Options come as the words
// of the command line and documents as JSON, so that both are read where the command line reads them.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <filesystem>

#include "executor/cli/annotate_automatic.h"
#include "executor/cli/optimizer_text.h"
#include "executor/cli/version.h"
#include "executor/device/presets.h"
#include "executor/device/read_device.h"
#include "executor/python/arrays.h"
#include "executor/python/calls.h"
#include "executor/python/compare.h"
#include "executor/python/model.h"
#include "executor/python/sessions.h"
#include "ir/interruption.h"
#include "ir/optimizer_spec.h"

namespace podium::python {
namespace {

namespace py = pybind11;

importer::ImportOptions import_options(const std::map<std::string, std::int64_t>& dims,
                                       const py::dict& feeds) {
  importer::ImportOptions options{.dims = dims, .fed_shapes_win = feeds.size() > 0};
  for (const auto& [name, array] : feeds)
    options.input_types[name.cast<std::string>()] = tensor_of(array).type_and_dims();
  return options;
}

Model load_file(const std::filesystem::path& path, const std::map<std::string, std::int64_t>& dims,
                const py::dict& feeds) {
  const importer::ImportOptions options = import_options(dims, feeds);
  const py::gil_scoped_release unlocked;
  return {path.string(), importer::import_model(path.string(), options)};
}

Model load_bytes(const py::bytes& bytes, const std::map<std::string, std::int64_t>& dims,
                 const py::dict& feeds) {
  const importer::ImportOptions options = import_options(dims, feeds);
  const std::string_view view(bytes);
  const py::gil_scoped_release unlocked;
  return {"bytes", importer::import_bytes({view.data(), view.size()}, options)};
}

void add_model(py::module_& module) {
  py::class_<Port>(module, "Port")
      .def_readonly("name", &Port::name)
      .def_property_readonly("type", [](const Port& port) { return to_string(port.type); })
      .def_property_readonly("kind",
                             [](const Port& port) {
                               constexpr std::array kKinds{"tensor", "sequence", "optional", "map"};
                               return kKinds.at(static_cast<std::size_t>(port.type.kind));
                             })
      .def_property_readonly("element",
                             [](const Port& port) { return std::string(name_of(port.type.element)); })
      .def_property_readonly("dtype", [](const Port& port) { return dtype_name(port.type.element); })
      .def_property_readonly("shape", [](const Port& port) {
        std::optional<std::vector<std::optional<std::int64_t>>> shape;
        if (!port.type.has_rank) return shape;
        shape.emplace();
        for (std::int64_t dim : port.type.dims)
          shape->push_back(dim == ir::kUnknown ? std::nullopt : std::optional(dim));
        return shape;
      });
  py::class_<Model>(module, "Model")
      .def_property_readonly("name", &Model::name)
      .def_property_readonly("inputs", &Model::inputs)
      .def_property_readonly("outputs", &Model::outputs)
      .def("info",
           [](const Model& model) {
             const importer::Model copy = model.imported();
             return call(model.name(), nullptr, [&] { return info_of(copy); });
           })
      .def("annotate", &Model::annotate)
      .def("annotate_automatically",
           [](Model& model, const std::vector<std::string>& arguments, const std::string& device) {
             const Settings settings =
                 read_settings(cli::Command::Annotate, {model.name(), arguments, "", device});
             importer::Model placed = model.imported();
             call(model.name(), nullptr,
                  [&] { cli::place_automatically(placed, settings.options.annotate, settings.device); });
             model.take_annotations(std::move(placed));
           })
      .def("clear_annotations", &Model::clear_annotations)
      .def("placement", &Model::placement)
      .def("save", [](const Model& model, const std::filesystem::path& path) { model.save(path.string()); });
  module.def("load_file", load_file, py::arg("path"), py::arg("dims"), py::arg("feeds"));
  module.def("load_bytes", load_bytes, py::arg("bytes"), py::arg("dims"), py::arg("feeds"));
}

template <class Session, class Class>
void add_what_both_tell(Class& bound) {
  bound.def_property_readonly("inputs", &Session::inputs)
      .def_property_readonly("outputs", &Session::outputs)
      .def_property_readonly("notes", &Session::notes)
      .def_property_readonly("can_run", &Session::can_run)
      .def("report", &Session::report)
      .def("table", &Session::table)
      .def("trace", &Session::trace)
      .def("run", &Session::run, py::arg("feeds"))
      .def("set_weights", &Session::set_weights);
}

void add_sessions(py::module_& module) {
  py::class_<Inference> inference(module, "InferenceSession");
  inference.def(py::init([](const Model& model, const std::vector<std::string>& arguments,
                            const std::string& document, const std::string& device) {
                  return std::make_unique<Inference>(
                      model, read_settings(cli::Command::Run, {model.name(), arguments, document, device}));
                }),
                py::arg("model"), py::arg("arguments"), py::arg("document"), py::arg("device"));
  add_what_both_tell<Inference>(inference);
  py::class_<Training> training(module, "TrainingSession");
  training
      .def(py::init([](const Model& model, const std::vector<std::string>& arguments,
                       const std::string& document, const std::string& device,
                       const std::vector<std::string>& changing) {
             return std::make_unique<Training>(
                 model, read_settings(cli::Command::Train, {model.name(), arguments, document, device}),
                 changing);
           }),
           py::arg("model"), py::arg("arguments"), py::arg("document"), py::arg("device"),
           py::arg("changing"))
      .def_property_readonly("loss", &Training::loss)
      .def_property_readonly("losses", &Training::losses)
      .def_property_readonly("steps", &Training::steps)
      .def("weights", &Training::weights)
      .def("optimizer_state", &Training::optimizer_state)
      .def("set_optimizer", &Training::set_optimizer)
      .def("save", [](Training& session, const std::filesystem::path& path) { session.save(path.string()); })
      .def("load", [](Training& session, const std::filesystem::path& path) { session.load(path.string()); });
  add_what_both_tell<Training>(training);
  module.def("compare",
             [](const Model& model, const std::vector<std::string>& arguments, const std::string& document,
                const std::string& device, const std::string& strategies) {
               const Settings settings =
                   read_settings(cli::Command::Compare, {model.name(), arguments, document, device});
               return compare_strategies(model, settings, strategies);
             });
}

void add_tables(py::module_& module) {
  module.def("read_device", [](const std::string& name) { return to_json(device::read_device(name)); });
  module.def("check_device", [](const std::string& text) { return to_json(device::parse_device(text)); });
  module.def("device_names", [] {
    return std::vector<std::string>(device::preset_names().begin(), device::preset_names().end());
  });
  module.def("check_optimizer", [](const std::string& text) { cli::read_optimizer(text); });
  module.def("optimizer_names", [] {
    std::vector<std::string> names;
    for (const ir::OptimizerSpec* spec : ir::all_optimizers()) {
      for (const auto& [name, decay] : spec->typed) names.emplace_back(name);
    }
    return names;
  });
  module.def("versions", cli::version_text);
}

PYBIND11_MODULE(_podium, module) {
  py::register_exception<Error>(module, "Error", PyExc_ValueError);
  py::register_exception<InternalError>(module, "InternalError", PyExc_RuntimeError);
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      std::rethrow_exception(std::move(thrown));
    } catch (const Interrupted&) {  // NOLINT: Python holds its exception already
    }
  });
  ir::interruption_check = look_for_signals;
  add_model(module);
  add_sessions(module);
  add_tables(module);
}

}  // namespace
}  // namespace podium::python
