// What devices have of the values of a graph that is cut over them, and how they come to what they need: ops
// in which devices meet, and that cut, add up and join, are appended to the new graph.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "annotate/box_index.h"
#include "annotate/group_exchanges.h"
#include "annotate/partition.h"

namespace podium::annotate {

/// How often an op runs that is appended.
enum class Context : std::uint8_t { MicroBatch, Update };

inline Context context_of(const ir::Op& op) {
  return ir::is_outer(op) ? Context::Update : Context::MicroBatch;
}

/// Where an op of the whole graph runs: on which group of devices, and when.
struct Place {
  int group = 0;
  int stage = 0;
  int phase = 0;
  friend auto operator<=>(const Place&, const Place&) = default;
};

/// A box of a value, in the new graph.
struct Piece {
  ir::ValueId value;
  Box box;
};

/// Who has what of a value: devices of one group. Of a variable any group may read what a device has, where
/// it has a copy.
struct Held {
  ir::ValueId everywhere = ir::kNoValue;  ///< valid: all of it, and any device may read it
  std::vector<std::optional<Piece>> on = {};
  Pieces pieces = Pieces::Parts;
  bool is_undecided = false;  ///< a weight or constant, cut as its first reader wants it
  bool is_variable = false;
  Place place = {};
};

/// Its pieces have to be put together element by element.
inline bool is_sum(const Held& held) { return held.pieces != Pieces::Parts; }

/// The boxes of the devices.
Boxes boxes_of(const Held& held);

class Holdings {
 public:
  /// Of the values of `whole`; ops are appended to `out`. Both live as long as the plan does.
  Holdings(const ir::Graph& whole, const ShardingPlan& plan, ir::Graph& out)
      : whole_(whole),
        plan_(plan),
        devices_(plan.devices),
        out_(out),
        held_(std::ssize(whole.values)),
        brought_(std::ssize(whole.values)) {}

  Held& operator[](ir::ValueId id) { return held_[id]; }
  const Held& operator[](ir::ValueId id) const { return held_[id]; }
  /// After values have been added to the whole graph.
  void grow() {
    held_.resize(std::ssize(whole_.values), {});
    brought_.resize(std::ssize(whole_.values), {});
  }
  /// The node for which values are brought from now on, and where it is.
  void set_node(std::string name, Place place) {
    node_ = std::move(name);
    place_ = place;
  }
  const Place& place() const { return place_; }
  /// Says of an op which device of the node's group runs it, and how often.
  void put_on(ir::Op& op, int device, Context context) const { put_on(op, device, context, place_); }
  std::vector<Resharding> take_reshardings() { return std::move(reshardings_); }

  /// Appends an op of ai.onnx on a device and gives its output.
  ir::ValueId call(std::string_view name, std::vector<ir::ValueId> inputs, int device, Context context,
                   std::vector<ir::Attribute> attributes = {});
  /// A constant.
  ir::ValueId ints(const std::vector<std::int64_t>& values);
  /// The box of a value on a device: its own, another device's, summed up or joined. Error where no device
  /// has a part of it.
  ir::ValueId bring(ir::ValueId id, int device, const Box& box, Context context);
  /// The box of a value that has been brought to a device, or made there, if it has.
  std::optional<ir::ValueId> known(ir::ValueId id, int device, const Box& box, Context context) const;
  /// From now on the device has this box of the value beside what it holds.
  void note_made(ir::ValueId id, int device, const Box& box, Context context, ir::ValueId made);
  /// Brings a value to the devices that want a box of it, and reports what moved.
  std::vector<ir::ValueId> bring_all(ir::ValueId id, const Boxes& wanted, Context context);
  /// The box of each device but those whose box one before has, too.
  Boxes first_of_each_box(ir::ValueId id) const;
  /// From now on the devices have these boxes of the value, and no summands.
  void take_form(ir::ValueId id, const Boxes& boxes, Context context);

 private:
  /// A box of a value that has been brought to a device.
  struct Brought {
    int group;
    int device;
    Context context;
    Box box;
    friend auto operator<=>(const Brought&, const Brought&) = default;
  };
  /// What devices have of the value that is being brought to all; made when it is first looked into.
  struct Index {
    ir::ValueId id;
    std::optional<BoxIndex> boxes = {};
  };
  // What was counted of the tensor that is being brought.
  struct Moved {
    std::int64_t bytes = 0;
    bool joined = false;
    bool gathered = false;  ///< by a collective
    bool all_to_all = false;
  };

  // A piece of a value on a device of the group that has it, for which a box is cut there.
  struct Source {
    Piece piece;
    int device;
    Place place;
  };

  void put_on(ir::Op& op, int device, Context context, const Place& place) const;
  ir::ValueId emit(ir::Op op, std::string_view name);
  ir::ValueId call_at(const Place& place, std::string_view name, std::vector<ir::ValueId> inputs, int device,
                      Context context, std::vector<ir::Attribute> attributes = {});
  Source source(ir::ValueId id, int device) const;
  ir::ValueId cut_piece(const Source& from, const Box& box, Context context);
  ir::ValueId cut_anew(const Source& from, const Box& box, Context context);
  void count(ir::ValueId value, const Source& from, int to);
  ir::ValueId bring_anew(ir::ValueId id, int device, const Box& box, Context context);
  std::vector<int> sources_of(ir::ValueId id, const Box& box);
  ir::ValueId add_up(ir::ValueId id, const std::vector<int>& sources, int device, const Box& box,
                     Context context);
  ir::ValueId put_together(Pieces pieces, const std::vector<ir::ValueId>& summands, int device,
                           Context context);
  Ranges segments_of(ir::ValueId id, const std::vector<int>& sources, const Box& box, std::size_t axis) const;
  ir::ValueId join(ir::ValueId id, const std::vector<int>& sources, int device, const Box& box,
                   Context context);
  void split(const Source& from, std::int64_t axis, const std::vector<Box>& boxes, Context context);
  bool may_meet(ir::ValueId id) const;
  bool exchange_in_groups(ir::ValueId id, const Boxes& wanted, Context context);
  ir::ValueId bring_own(ir::ValueId id, int device, Context context);
  void add_up_where_it_lies(ir::ValueId id, const Boxes& wanted, Context context);
  bool send_in_parts(ir::ValueId id, const Boxes& wanted, Context context);
  void emit_exchange(ir::ValueId id, const GroupExchange& exchange, const std::vector<ir::ValueId>& pieces,
                     const Boxes& wanted, Context context);
  void share_sum(ir::ValueId id, const Boxes& wanted, Context context);
  void keep_sum(ir::ValueId id, const Boxes& wanted, const std::vector<ir::ValueId>& values);
  void report(ir::ValueId id, bool was_sum, int readers, const Boxes& wanted);
  const ir::Type& type(ir::ValueId id) const { return whole_[id].type; }

  const ir::Graph& whole_;
  const ShardingPlan& plan_;
  int devices_;
  ir::Graph& out_;
  ir::IdMap<ir::ValueId, Held> held_;
  ir::IdMap<ir::ValueId, std::map<Brought, ir::ValueId>> brought_;
  std::optional<Index> index_;
  std::map<std::tuple<ir::ValueId, Context, Place>, std::vector<Piece>> cuts_;  ///< of the new graph's values
  std::string node_;
  std::string subject_;  ///< the name of the value that is being brought, after which its pieces are named
  Place place_;
  Moved moved_;
  std::vector<Resharding> reshardings_;
};

}  // namespace podium::annotate
