// Converts fields of a babeltrace2 event to values of a countrace record.
//
// A hook has at most six payload values. Rule: structures are flattened
// ("outer.inner"); integers, reals and strings keep their type; integers that
// are shown in base 16 become pointers; an enumeration becomes its label, or
// its number as text if it has none; arrays, sequences, variants and options
// are rendered into one text. The length field of a sequence is left out. If
// there are more than six, the sixth value is a text "name = value, ..." of the
// rest. Texts are cut after 511 bytes and then end in "...". Thread: one.
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
  // The field of each value; of several, `others`.
  std::vector<std::string> Names() const;

  // Appends the values of `structure` (of the constructor's class) in the form
  // of FORMAT.md 4.2, without padding. At most kMaxPayloadBytes.
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

  std::vector<Leaf> leaves_;  // all fields, also beyond six
  std::vector<logformat::PayloadType> types_;
};

// Reads an integer of any kind; nullopt if the field is not an integer.
std::optional<std::int64_t> IntegerOf(const bt_field* field);
// A string's text. After an empty string, babeltrace2 2.0.4 still holds the
// previous text.
std::string_view TextOf(const bt_field& string);
// Any field as text: `[1, 2]`, `{ a = 1 }`, `LABEL`.
void AppendField(const bt_field& field, std::string& out);

// Index of the member `name` in `structure`; nullopt if there is none.
std::optional<std::uint32_t> MemberIndex(const bt_field_class* structure,
                                         std::string_view name);

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_FIELD_VALUES_H_
