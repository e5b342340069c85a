// The names of what arguments of system calls are: flags, families, commands,
// modes, errors. Traces store numbers; these are how they are shown, and how
// those are whose names a trace has (number_names.h).
//
// The numbers are those of the machine that reads: of another architecture's
// trace a few flags of open(2) have other names.
#ifndef COUNTRACE_LOGFORMAT_READ_CALL_FLAGS_H_
#define COUNTRACE_LOGFORMAT_READ_CALL_FLAGS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "logformat/description/number_names.h"

namespace countrace::logformat {

// Those of `argument` (or of `ret`, the returned value) of system call `call`;
// null: its values have none.
const NumberNames* FindCallNames(std::string_view call,
                                 std::string_view argument);

// "O_RDONLY|O_CLOEXEC", "AT_FDCWD", "0644", "-2 ENOENT". Bits without a name
// are in hexadecimal at the end. Empty: this value has no name.
std::string NumberText(const NumberNames& names, std::uint64_t value);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_READ_CALL_FLAGS_H_
