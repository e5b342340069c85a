// Whether a file may be given to libelf, which takes memory for each section
// that a file says it has, before it reads one. Thread: any.
#ifndef COUNTRACE_BASE_CODE_ELF_HEADERS_H_
#define COUNTRACE_BASE_CODE_ELF_HEADERS_H_

namespace countrace::base {

// False: the numbers of its sections or program headers do not fit into its
// first header, as those of no program or library, and may be billions.
bool HasFewElfHeaders(int fd);

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_CODE_ELF_HEADERS_H_
