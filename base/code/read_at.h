// Bytes of a file, or of what stands for one, from any place on.
#ifndef COUNTRACE_BASE_CODE_READ_AT_H_
#define COUNTRACE_BASE_CODE_READ_AT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

namespace countrace::base {

// Bytes from `offset` on, as many as there are; fewer than `out` at the end.
using ReadAt =
    std::function<std::size_t(std::uint64_t offset, std::span<std::byte> out)>;

// Reads an open file, which must stay open, by pread(2), as another program may
// cut it at any time.
ReadAt ReadAtOf(int fd);
// Reads memory, which must stay as it is.
ReadAt ReadAtOf(std::string_view bytes);

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_CODE_READ_AT_H_
