// Takes from a program of ours what it does not need to read hostile files: its
// user, capabilities, file system, processes and most system calls.
//
// Thread: the only one of its process; for ever.
#ifndef COUNTRACE_BASE_JAIL_PROCESS_JAIL_H_
#define COUNTRACE_BASE_JAIL_PROCESS_JAIL_H_

#include <cstdint>
#include <string>
#include <vector>

namespace countrace::base {

struct Jail {
  // Directories with all below them, and files: the only ones that can be
  // opened, and only to be read. Empty: it opens none, on any kernel.
  std::vector<std::string> readable;
  std::uint64_t file_bytes = ~std::uint64_t{0};  // of a file that is written
  // It may move its limit of memory, below the one that it was started with.
  bool sets_memory_limit = false;
};

// After it the process can read `readable`, use its open descriptors and
// memory, and end: it makes no process, socket or executable page, opens no
// other file and none to write it, and reaches no other process. As root it
// has a user and group of its own, and no capability but reading `readable`.
//
// Returns what this system cannot take away, in words for its user; empty:
// everything was taken.
std::vector<std::string> EnterJail(const Jail& jail);

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_JAIL_PROCESS_JAIL_H_
