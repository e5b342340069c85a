// Takes from the import program what it does not need to read a hostile trace:
// its user, capabilities, file system, processes and most system calls.
//
// Thread: the only one of its process; for ever.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PROGRAM_IMPORT_JAIL_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PROGRAM_IMPORT_JAIL_H_

#include <cstdint>
#include <string>
#include <vector>

namespace countrace::importer {

struct Jail {
  // Directories with all below them, and files: the only ones that can be
  // opened, and only to be read.
  std::vector<std::string> readable;
  std::uint64_t file_bytes = ~std::uint64_t{0};  // of a file that is written
};

// After it the process can read `readable`, use its open descriptors and
// memory, and end: it makes no process, socket or executable page, opens no
// other file and none to write it, and reaches no other process. As root it
// has a user and group of its own, and no capability but reading `readable`.
//
// Returns what this system cannot take away, in words for its user; empty:
// everything was taken.
std::vector<std::string> Enter(const Jail& jail);

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PROGRAM_IMPORT_JAIL_H_
