// Mutation of a binary model by its messages. All messages of the model are listed, one is taken, and one of
// its fields changed by its kind: numbers become extreme, strings (names of values, ops, domains, symbols)
// those of other messages with such a field, messages are removed, repeated, swapped, or replaced by one of
// the same type from elsewhere in the model or from another one. So edges, types, dimensions, attributes,
// bodies and functions change without a line about any of them here. Fields that the packaged library does
// not know, such as what nodes say of devices, are changed by their numbers (mutate_fields.h). Now and then a
// list of numbers is filled as a whole (mutate_lists.h).
#include <google/protobuf/message.h>
#include <onnx/onnx_pb.h>

#include <memory>

#include "tests/fuzz/mutate_fields.h"
#include "tests/fuzz/mutate_lists.h"

namespace podium::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

void collect(Message& message, std::vector<Message*>& messages) {
  messages.push_back(&message);
  const auto* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      collect(*reflection->MutableMessage(&message, field), messages);
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(message, field); ++i)
      collect(*reflection->MutableRepeatedMessage(&message, field, i), messages);
  }
}

// The strings of all fields of the same name; what names values is one kind.
std::vector<std::string> strings_like(const FieldDescriptor* like, const std::vector<Message*>& messages) {
  const auto names_value = [](const std::string& name) {
    return name == "input" || name == "output" || name == "name";
  };
  std::vector<std::string> strings;
  for (const Message* message : messages) {
    const auto* reflection = message->GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection->ListFields(*message, &fields);
    for (const FieldDescriptor* field : fields) {
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_STRING) continue;
      if (field->name() != like->name() && !(names_value(field->name()) && names_value(like->name())))
        continue;
      if (!field->is_repeated()) {
        strings.push_back(reflection->GetString(*message, field));
        continue;
      }
      for (int i = 0; i < reflection->FieldSize(*message, field); ++i)
        strings.push_back(reflection->GetRepeatedString(*message, field, i));
    }
  }
  return strings;
}

const google::protobuf::UnknownFieldSet& unknown_fields(const Message& message) {
  return message.GetReflection()->GetUnknownFields(message);
}

// Of the messages that have some, one.
Message* any_with_unknown_fields(const std::vector<Message*>& messages, Dice& dice) {
  std::vector<Message*> some;
  for (Message* message : messages) {
    if (!unknown_fields(*message).empty()) some.push_back(message);
  }
  return some.empty() ? nullptr : dice.pick(some);
}

// What the values of a model are called.
Corpus operands_in(const std::vector<Message*>& messages) {
  Corpus names;
  for (const Message* message : messages) {
    const auto* node = dynamic_cast<const onnx::NodeProto*>(message);
    if (node == nullptr) continue;
    names.insert(names.end(), node->input().begin(), node->input().end());
    names.insert(names.end(), node->output().begin(), node->output().end());
  }
  return names;
}

class Change {
 public:
  Change(const std::vector<Message*>& messages, const std::vector<Message*>& others, Dice& dice)
      : messages_(messages), others_(others), dice_(dice) {}

  void of_message(Message& message) {
    const auto* descriptor = message.GetDescriptor();
    std::vector<const FieldDescriptor*> fields;
    if (!dice_.one_in(4)) message.GetReflection()->ListFields(message, &fields);
    for (int i = 0; fields.empty() && i < descriptor->field_count(); ++i)
      fields.push_back(descriptor->field(i));
    if (fields.empty()) return;
    const FieldDescriptor* field = dice_.pick(fields);
    if (field->is_repeated()) {
      of_repeated(message, field);
    } else if (dice_.one_in(6)) {
      message.GetReflection()->ClearField(&message, field);
    } else {
      of_single(message, field);
    }
  }

 private:
  std::string string_for(const FieldDescriptor* field, const std::string& now) {
    if (dice_.one_in(4)) return mutate_bytes(now, {now}, dice_);
    const std::vector<std::string> known = strings_like(field, dice_.one_in(2) ? others_ : messages_);
    return known.empty() ? now : known[dice_.below(known.size())];
  }

  // A copy of a message of the field's type from elsewhere; none where there is none.
  std::unique_ptr<Message> message_for(const FieldDescriptor* field) {
    std::vector<const Message*> same;
    for (const auto* list : {&messages_, &others_}) {
      for (const Message* message : *list) {
        if (message->GetDescriptor() == field->message_type()) same.push_back(message);
      }
    }
    if (same.empty()) return nullptr;
    const Message* like = dice_.pick(same);
    std::unique_ptr<Message> copy(like->New());
    copy->CopyFrom(*like);
    return copy;
  }

  void of_single(Message& message, const FieldDescriptor* field) {
    const auto* reflection = message.GetReflection();
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return reflection->SetInt32(&message, field, static_cast<std::int32_t>(dice_.whole_number()));
      case FieldDescriptor::CPPTYPE_INT64:
        return reflection->SetInt64(&message, field, dice_.whole_number());
      case FieldDescriptor::CPPTYPE_UINT64:
        return reflection->SetUInt64(&message, field, static_cast<std::uint64_t>(dice_.whole_number()));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return reflection->SetFloat(&message, field, static_cast<float>(dice_.real_number()));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return reflection->SetDouble(&message, field, dice_.real_number());
      case FieldDescriptor::CPPTYPE_ENUM:
        return reflection->SetEnum(&message, field,
                                   field->enum_type()->value(static_cast<int>(dice_.below(
                                       static_cast<std::size_t>(field->enum_type()->value_count())))));
      case FieldDescriptor::CPPTYPE_STRING:
        return reflection->SetString(&message, field,
                                     string_for(field, reflection->GetString(message, field)));
      case FieldDescriptor::CPPTYPE_MESSAGE:
        if (const auto copy = message_for(field))
          reflection->MutableMessage(&message, field)->CopyFrom(*copy);
        return;
      default:
        return;
    }
  }

  void of_element(Message& message, const FieldDescriptor* field, int i) {
    const auto* reflection = message.GetReflection();
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return reflection->SetRepeatedInt32(&message, field, i,
                                            static_cast<std::int32_t>(dice_.whole_number()));
      case FieldDescriptor::CPPTYPE_INT64:
        return reflection->SetRepeatedInt64(&message, field, i, dice_.whole_number());
      case FieldDescriptor::CPPTYPE_UINT64:
        return reflection->SetRepeatedUInt64(&message, field, i,
                                             static_cast<std::uint64_t>(dice_.whole_number()));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return reflection->SetRepeatedFloat(&message, field, i, static_cast<float>(dice_.real_number()));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return reflection->SetRepeatedDouble(&message, field, i, dice_.real_number());
      case FieldDescriptor::CPPTYPE_STRING:
        return reflection->SetRepeatedString(
            &message, field, i, string_for(field, reflection->GetRepeatedString(message, field, i)));
      case FieldDescriptor::CPPTYPE_MESSAGE:
        if (const auto copy = message_for(field))
          reflection->MutableRepeatedMessage(&message, field, i)->CopyFrom(*copy);
        return;
      default:
        return;
    }
  }

  void add_element(Message& message, const FieldDescriptor* field) {
    const auto* reflection = message.GetReflection();
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return reflection->AddInt32(&message, field, static_cast<std::int32_t>(dice_.whole_number()));
      case FieldDescriptor::CPPTYPE_INT64:
        return reflection->AddInt64(&message, field, dice_.whole_number());
      case FieldDescriptor::CPPTYPE_UINT64:
        return reflection->AddUInt64(&message, field, static_cast<std::uint64_t>(dice_.whole_number()));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return reflection->AddFloat(&message, field, static_cast<float>(dice_.real_number()));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return reflection->AddDouble(&message, field, dice_.real_number());
      case FieldDescriptor::CPPTYPE_STRING:
        return reflection->AddString(&message, field, string_for(field, ""));
      case FieldDescriptor::CPPTYPE_MESSAGE:
        if (const auto copy = message_for(field)) reflection->AddMessage(&message, field)->CopyFrom(*copy);
        return;
      default:
        return;
    }
  }

  void of_repeated(Message& message, const FieldDescriptor* field) {
    const auto* reflection = message.GetReflection();
    const int size = reflection->FieldSize(message, field);
    if (size == 0 || dice_.one_in(6)) return add_element(message, field);
    const int at = static_cast<int>(dice_.below(static_cast<std::size_t>(size)));
    const int other = static_cast<int>(dice_.below(static_cast<std::size_t>(size)));
    switch (dice_.below(6)) {
      case 0:
        reflection->SwapElements(&message, field, at, size - 1);
        reflection->RemoveLast(&message, field);
        break;
      case 1:
        reflection->SwapElements(&message, field, at, other);
        break;
      default:
        of_element(message, field, at);
    }
  }

  const std::vector<Message*>& messages_;
  const std::vector<Message*>& others_;
  Dice& dice_;
};

}  // namespace

std::string mutate_model(const std::string& input, const Corpus& corpus, Dice& dice) {
  onnx::ModelProto model;
  onnx::ModelProto other;
  if (!model.ParseFromString(input) || dice.one_in(32)) return mutate_bytes(input, corpus, dice);
  if (corpus.empty() || !other.ParseFromString(dice.pick(corpus))) other = model;
  std::vector<Message*> others;
  collect(other, others);
  for (std::size_t i = dice.below(4) + 1; i > 0; --i) {
    if (dice.one_in(3) && fill_list(model, dice)) continue;
    std::vector<Message*> messages;
    collect(model, messages);
    Message* newer = dice.one_in(2) ? any_with_unknown_fields(messages, dice) : nullptr;
    if (newer != nullptr) {
      const Message* like = any_with_unknown_fields(others, dice);
      mutate_fields(*newer->GetReflection()->MutableUnknownFields(newer),
                    unknown_fields(like == nullptr ? *newer : *like), operands_in(messages), dice);
      continue;
    }
    Change(messages, others, dice).of_message(*dice.pick(messages));
  }
  return model.SerializeAsString();
}

}  // namespace podium::fuzz
