// Text of a source file that a program's debug information names. The owner of
// the program chose the name, so he gets no file that he cannot read himself.
//
// Thread: any; forks.
#ifndef COUNTRACE_RMAP_SAMPLES_CODE_SOURCE_TEXT_H_
#define COUNTRACE_RMAP_SAMPLES_CODE_SOURCE_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace countrace::rmap {

// `owner`: the user of the program's file. For a program of the caller or of
// root: what the caller may read. For one of another user root reads as that
// user, and other users read files that all may read. Regular files of at most
// 16 MiB, none that the kernel makes up (/proc, /sys). Errors: why it has none,
// in words.
absl::StatusOr<std::string> SourceText(const std::string& path,
                                       std::uint32_t owner);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_CODE_SOURCE_TEXT_H_
