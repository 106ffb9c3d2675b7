// What a value holds while a model runs: a tensor, a sequence, a map, or nothing (an empty optional).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "ir/tensor.h"

namespace podium::ir {

struct Datum;

/// The items of a sequence. Copies share memory, and so does a sequence with the one that it is longer than
/// by its last item: to grow one by one takes linear time.
class Items {
 public:
  class Iterator {
   public:
    using value_type = Datum;
    using difference_type = std::ptrdiff_t;

    Iterator() = default;
    Iterator(const Items& items, std::size_t at) : items_(&items), at_(at) {}
    const Datum& operator*() const { return (*items_)[at_]; }
    Iterator& operator++() { return ++at_, *this; }
    Iterator operator++(int) { return Iterator(*items_, at_++); }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }

   private:
    const Items* items_ = nullptr;
    std::size_t at_ = 0;
  };

  explicit Items(std::span<const Datum> items);
  /// These and one more.
  Items with_last(Datum item) const;

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// An item that is there: a fault of Podium otherwise.
  const Datum& operator[](std::size_t i) const;
  const Datum& front() const { return (*this)[0]; }
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size_}; }

 private:
  class Store;

  std::shared_ptr<Store> store_;
  std::size_t size_ = 0;
};

struct Datum {
  enum class Holds : std::uint8_t { Nothing, Tensor, Sequence, Map };

  Holds holds = Holds::Nothing;
  Tensor tensor = {};  ///< when it holds a tensor
  /// The items of a sequence; of a map two items, a 1-D tensor of keys and a 1-D tensor of values.
  std::shared_ptr<const Items> items = {};

  Datum() = default;
  Datum(Tensor value) : holds(Holds::Tensor), tensor(std::move(value)) {}  // NOLINT: a tensor is a datum
  static Datum sequence(const std::vector<Datum>& items);
  static Datum sequence(Items items);
  static Datum map(Tensor keys, Tensor values);

  bool is_tensor() const { return holds == Holds::Tensor; }
  bool is_nothing() const { return holds == Holds::Nothing; }
};

/// The type of what is there; an empty sequence has an inner tensor of undefined type.
Type type_of(const Datum& datum);

}  // namespace podium::ir
