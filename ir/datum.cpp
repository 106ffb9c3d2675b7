#include "ir/datum.h"

namespace podium::ir {

Datum Datum::sequence(std::vector<Datum> items) {
  Datum datum;
  datum.holds = Holds::Sequence;
  datum.items = std::make_shared<const std::vector<Datum>>(std::move(items));
  return datum;
}

Datum Datum::map(Tensor keys, Tensor values) {
  Datum datum;
  datum.holds = Holds::Map;
  datum.items =
      std::make_shared<const std::vector<Datum>>(std::vector<Datum>{std::move(keys), std::move(values)});
  return datum;
}

Type type_of(const Datum& datum) {
  switch (datum.holds) {
    case Datum::Holds::Nothing:
      return Type::optional(Type{});
    case Datum::Holds::Tensor:
      return datum.tensor.type_and_dims();
    case Datum::Holds::Sequence:
      return Type::sequence(datum.items->empty() ? Type{} : type_of(datum.items->front()));
    case Datum::Holds::Map:
      return Type::map((*datum.items)[0].tensor.type(), Type::tensor((*datum.items)[1].tensor.type(), {}));
  }
  return {};
}

}  // namespace podium::ir
