// The items of a sequence lie in a store of chunks, each as large as all before it, so that no item ever
// moves. Sequences that share a store differ in how many of its items are theirs. One whose items are all
// that the store has can grow in place; a shorter one, behind whose end the store goes on, is copied first.
#include "ir/datum.h"

#include <array>
#include <bit>
#include <mutex>

#include "ir/id_map.h"

namespace podium::ir {

class Items::Store {
 public:
  const Datum& operator[](std::size_t i) const {
    const Place place = place_of(i);
    return chunks_[place.chunk][place.offset];
  }

  /// False when there are more than `size` items already: then another sequence has grown here.
  bool add_behind(std::size_t size, Datum& item) {
    const std::lock_guard lock(growing_);
    if (size_ != size) return false;
    const Place place = place_of(size);
    if (place.offset == 0) chunks_[place.chunk] = std::make_unique<Datum[]>(std::size_t{1} << place.chunk);
    chunks_[place.chunk][place.offset] = std::move(item);
    ++size_;
    return true;
  }

 private:
  struct Place {
    std::size_t chunk;
    std::size_t offset;
  };
  // Chunk c has the items from 2^c - 1 on.
  static Place place_of(std::size_t i) {
    const std::size_t chunk = std::bit_width(i + 1) - 1;
    return {chunk, i + 1 - (std::size_t{1} << chunk)};
  }

  std::array<std::unique_ptr<Datum[]>, 64> chunks_;
  std::size_t size_ = 0;
  std::mutex growing_;
};

Items::Items(std::span<const Datum> items) : store_(std::make_shared<Store>()) {
  for (Datum item : items) store_->add_behind(size_++, item);
}

Items Items::with_last(Datum item) const {
  Items longer = *this;
  if (!store_->add_behind(size_, item)) {
    longer = Items({});
    for (Datum own : *this) longer.store_->add_behind(longer.size_++, own);
    longer.store_->add_behind(size_, item);
  }
  ++longer.size_;
  return longer;
}

const Datum& Items::operator[](std::size_t i) const { return (*store_)[checked_index(i, size_)]; }

Datum Datum::sequence(const std::vector<Datum>& items) { return sequence(Items(items)); }

Datum Datum::sequence(Items items) {
  Datum datum;
  datum.holds = Holds::Sequence;
  datum.items = std::make_shared<const Items>(std::move(items));
  return datum;
}

Datum Datum::map(Tensor keys, Tensor values) {
  Datum datum = sequence({Datum(std::move(keys)), Datum(std::move(values))});
  datum.holds = Holds::Map;
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
