// Typed ids, and vectors that have an entry for each id of a kind.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace podium::ir {

[[noreturn]] void fail_id(std::int64_t index, std::size_t size);

/// The index, when a vector of `size` entries has it: else a fault of Podium, and not memory of somebody
/// else.
inline std::size_t checked_index(std::int64_t index, std::size_t size) {
  if (static_cast<std::size_t>(index) >= size) [[unlikely]]
    fail_id(index, size);
  return static_cast<std::size_t>(index);
}

/// The place of a value, an op, a buffer or a block in the vector of its kind. Ids of two kinds do not mix.
template <class Tag>
struct Id {
  std::int32_t index = -1;
  bool valid() const { return index >= 0; }
  /// Its place as a number, for what is neither the vector of its kind nor an IdMap.
  std::int32_t number() const { return index; }
  friend auto operator<=>(Id, Id) = default;
};

/// All ids of a kind, in their order; `graph.op_ids() | std::views::reverse` gives them from the last.
template <class Id>
class IdRange {
 public:
  class Iterator {
   public:
    using value_type = Id;
    using difference_type = std::ptrdiff_t;

    Iterator() = default;
    explicit Iterator(std::int32_t index) : index_(index) {}
    Id operator*() const { return Id{index_}; }
    Iterator& operator++() { return ++index_, *this; }
    Iterator operator++(int) { return Iterator(index_++); }
    Iterator& operator--() { return --index_, *this; }
    Iterator operator--(int) { return Iterator(index_--); }
    friend bool operator==(Iterator, Iterator) = default;

   private:
    std::int32_t index_ = 0;
  };

  explicit IdRange(std::int64_t size) : size_(static_cast<std::int32_t>(size)) {}
  Iterator begin() const { return Iterator(0); }
  Iterator end() const { return Iterator(size_); }
  bool contains(Id id) const { return id.index >= 0 && id.index < size_; }

 private:
  std::int32_t size_;
};

/// A vector with an entry for each id of a kind.
template <class Id, class T>
class IdMap {
 public:
  IdMap() = default;
  explicit IdMap(std::int64_t size, const T& value = T()) : entries_(size, value) {}

  decltype(auto) operator[](Id id) { return entries_[checked_index(id.index, entries_.size())]; }
  decltype(auto) operator[](Id id) const { return entries_[checked_index(id.index, entries_.size())]; }
  bool contains(Id id) const { return ids().contains(id); }

  std::int64_t size() const { return std::ssize(entries_); }
  bool empty() const { return entries_.empty(); }
  IdRange<Id> ids() const { return IdRange<Id>(size()); }
  /// Adds an entry; its id.
  Id push_back(T entry) {
    entries_.push_back(std::move(entry));
    return {static_cast<std::int32_t>(entries_.size() - 1)};
  }
  /// With entries of `value` behind those that are there.
  void resize(std::int64_t size, const T& value = T()) { entries_.resize(size, value); }
  void assign(std::int64_t size, const T& value) { entries_.assign(size, value); }
  void reserve(std::int64_t size) { entries_.reserve(size); }
  void clear() { entries_.clear(); }

  auto begin() { return entries_.begin(); }
  auto end() { return entries_.end(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

  friend bool operator==(const IdMap&, const IdMap&) = default;

 private:
  std::vector<T> entries_;
};

}  // namespace podium::ir
