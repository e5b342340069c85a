// The list of values behind a hook's name, `f(name:type=place,...)`, and what
// of it a hook has: the values that its records store.
//
// type: s8 to s64, u8 to u64, ptr, str (the text at an address); without one
// that of the hook's own description, with the names that it has for numbers.
// place: where the hook has the value, if it has another name there.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_HOOK_VALUES_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_HOOK_VALUES_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/recorder/kernel/hooks/argument_source.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_request.h"

namespace countrace::runtime {

struct WantedValue {
  std::string name, type, place;
};

struct WantedValues {
  bool given = false;  // there was a list
  bool all = false;    // "()" and "(*)"
  std::vector<WantedValue> values;
};

// Cuts the list off the end of `text`. Returns: INVALID_ARGUMENT the list is
// none, or has more than COUNTRACE_STORED_VALUES values.
absl::StatusOr<WantedValues> TakeValueList(std::string& text);

// A value that a hook has at one of its places.
struct HookValue {
  std::string name;
  std::string declared;  // its type, for the user
  logformat::PayloadType type = logformat::PayloadType::kInt;
  countrace_value_source source{};
  countrace_text_place text = COUNTRACE_TEXT_NONE;
  // The text at it, if `str` is asked for.
  countrace_text_place as_text = COUNTRACE_TEXT_USER;
  std::string unknown;  // why it cannot be stored; empty: it can
  // Names of its numbers; null: they have none.
  std::shared_ptr<const logformat::NumberNames> number_names;
};

// Values of a tracepoint of `system`, in the order of its format file; none of
// a file that cannot be read.
std::vector<HookValue> TracepointValues(const std::string& system,
                                        const std::string& format);
// Values of a USDT probe's note: arg0, arg1, ...
std::vector<HookValue> UsdtValues(const std::string& arguments);

// Whether `has` has a value for `wanted`, by its place or name.
const HookValue* FindValue(const std::vector<HookValue>& has,
                           const WantedValue& wanted);
// "len (unsigned int), name (text)": those that there are.
std::string ValuesText(const std::vector<HookValue>& has);

// Chooses `wanted` from `has`: the slots for one place, and what the hook says
// of them. Of "all" those that can be stored, at most COUNTRACE_STORED_VALUES.
// Returns: INVALID_ARGUMENT no such value (the message has those that there
// are), or not of this type.
absl::Status ChooseValues(const WantedValues& wanted,
                          const std::vector<HookValue>& has,
                          countrace_stored_values& stored, HookValues& values);

// Sets the window of a hook with one place whose values are numbers that lie
// beside each other in its context.
void SetWindow(countrace_stored_values& stored);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_HOOK_VALUES_H_
