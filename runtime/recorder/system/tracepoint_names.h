// What the kernel calls the numbers in a tracepoint's fields: __print_symbolic
// and __print_flags in the `print fmt` of its format file.
//
// In: the text of events/SYSTEM/EVENT/format. Out: names, by field. What is not
// understood has none: a call of another form, or under another condition than
// that the value is not 0; a field that is named twice.
// Thread: any.
#ifndef COUNTRACE_RUNTIME_RECORDER_SYSTEM_TRACEPOINT_NAMES_H_
#define COUNTRACE_RUNTIME_RECORDER_SYSTEM_TRACEPOINT_NAMES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "logformat/description/number_names.h"

namespace countrace::runtime {

using FieldNames =
    std::map<std::string, std::shared_ptr<const logformat::NumberNames>,
             std::less<>>;
// The value of a constant that is a word; absent: its name is left out.
using WordValue = std::optional<std::uint64_t>(std::string_view word);
FieldNames TracepointNames(std::string_view format, WordValue& value_of);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SYSTEM_TRACEPOINT_NAMES_H_
