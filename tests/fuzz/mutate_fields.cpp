#include "tests/fuzz/mutate_fields.h"

namespace podium::fuzz {
namespace {

using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

// Reads the message that the bytes of a field are; no fields where they are a text.
void read_message(const UnknownField& field, UnknownFieldSet& message) {
  if (field.type() != UnknownField::TYPE_LENGTH_DELIMITED ||
      !message.ParseFromString(field.length_delimited()))
    message.Clear();
}

// Fields of all messages, at any depth.
void collect(const UnknownFieldSet& from, UnknownFieldSet& all) {
  for (int i = 0; i < from.field_count(); ++i) {
    all.AddField(from.field(i));
    UnknownFieldSet inner;
    read_message(from.field(i), inner);
    collect(inner, all);
  }
}

const UnknownField& any_field(const UnknownFieldSet& fields, Dice& dice) {
  return fields.field(static_cast<int>(dice.below(static_cast<std::size_t>(fields.field_count()))));
}

void change_value(UnknownField& field, const UnknownFieldSet& pool, const Corpus& names, Dice& dice) {
  switch (field.type()) {
    case UnknownField::TYPE_VARINT:
      return field.set_varint(static_cast<std::uint64_t>(dice.whole_number()));
    case UnknownField::TYPE_FIXED32:
      return field.set_fixed32(static_cast<std::uint32_t>(dice.whole_number()));
    case UnknownField::TYPE_FIXED64:
      return field.set_fixed64(static_cast<std::uint64_t>(dice.whole_number()));
    case UnknownField::TYPE_GROUP:
      return mutate_fields(*field.mutable_group(), pool, names, dice);
    case UnknownField::TYPE_LENGTH_DELIMITED: {
      std::string& bytes = *field.mutable_length_delimited();
      UnknownFieldSet message;
      read_message(field, message);
      if (!message.empty() && !dice.one_in(8)) {
        mutate_fields(message, pool, names, dice);
        bytes.clear();
        message.SerializeToString(&bytes);
      } else if (!names.empty() && !dice.one_in(4)) {
        bytes = dice.pick(names);
      } else {
        bytes = mutate_bytes(bytes, {bytes}, dice);
      }
    }
  }
}

}  // namespace

void mutate_fields(UnknownFieldSet& fields, const UnknownFieldSet& others, const Corpus& names, Dice& dice) {
  UnknownFieldSet pool;
  collect(others, pool);
  collect(fields, pool);
  if (fields.empty()) {
    if (!pool.empty()) fields.AddField(any_field(pool, dice));
    return;
  }
  const int at = static_cast<int>(dice.below(static_cast<std::size_t>(fields.field_count())));
  switch (dice.below(12)) {
    case 0:
      return fields.DeleteSubrange(at, 1);
    case 1:
      return fields.AddField(any_field(pool, dice));
    case 2:
      return fields.AddVarint(static_cast<int>(dice.below(5)) + 1,
                              static_cast<std::uint64_t>(dice.whole_number()));
    default:
      change_value(*fields.mutable_field(at), others, names, dice);
  }
}

}  // namespace podium::fuzz
