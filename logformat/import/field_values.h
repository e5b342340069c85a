// Fields of a babeltrace2 event as what a countrace record can carry.
//
// A hook has at most six payload values. Rule: structures are flattened
// ("outer.inner"); integers, reals and strings keep their type, integers that
// are shown in base 16 become pointers; an enumeration is its label, or its
// number as text if it has none; arrays, sequences, variants and options are
// rendered into one text. The length field of a sequence is left out. If there
// are more than six, the sixth value is a text "name = value, ..." of the rest.
// Texts end after 511 bytes, "..." then. Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_FIELD_VALUES_H_
#define COUNTRACE_LOGFORMAT_IMPORT_FIELD_VALUES_H_

#include <babeltrace2/babeltrace.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "logformat/packet_layout.h"

namespace countrace::importer {

// The fields of one event class in the order of the payload.
class PayloadPlan {
 public:
  PayloadPlan() = default;
  // `structure` may be null: no fields.
  explicit PayloadPlan(const bt_field_class* structure);

  const std::vector<logformat::PayloadType>& types() const { return types_; }
  // "arg0 = id, arg1 = name": which value is which field; "" without fields.
  std::string Names() const;

  // Appends the values of `structure` (of the class of the constructor) as
  // FORMAT.md 4.2 says, without padding. At most kMaxPayloadBytes.
  void Encode(const bt_field* structure, std::string& out) const;

 private:
  struct Leaf {
    std::string name;
    std::vector<std::uint32_t> path;  // member indexes
    bt_field_class_type kind;
    logformat::PayloadType type;
  };

  void AddLeaves(const bt_field_class& structure, const std::string& prefix,
                 std::vector<std::uint32_t>& path, int depth);

  std::vector<Leaf> leaves_;  // all of them, also beyond six
  std::vector<logformat::PayloadType> types_;
};

// Reads an integer of any kind; nullopt if the field is none.
std::optional<std::int64_t> IntegerOf(const bt_field* field);
// A string's text. babeltrace2 2.0.4 keeps the old text behind an empty one.
std::string_view TextOf(const bt_field& string);
// Any field as text: `[1, 2]`, `{ a = 1 }`, `LABEL`.
void AppendField(const bt_field& field, std::string& out);

// Index of the member `name` in `structure`; nullopt if there is none.
std::optional<std::uint32_t> MemberIndex(const bt_field_class* structure,
                                         std::string_view name);

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_FIELD_VALUES_H_
