// The kernel's functions in a perf.data file, where this machine has the
// recorded kernel: it runs here, or perf has kept its symbols.
//
//   build id of the file -> /proc/kallsyms, perf's copy of it, or a vmlinux
//     -> moved by the place of one symbol that the file names (KASLR)
//
// In: mappings of the kernel and its modules. Out: names of addresses. Thread:
// one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PERF_KERNEL_SYMBOLS_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PERF_KERNEL_SYMBOLS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/code/local_symbols.h"
#include "logformat/import/perf/file_description.h"
#include "logformat/import/perf/machine_files.h"
#include "logformat/import/perf/mapping_record.h"

namespace countrace::importer::perf {

class KernelSymbols {
 public:
  // Both must outlive this.
  KernelSymbols(const FileDescription& file, const MachineFiles& machine)
      : file_(file), machine_(machine) {}

  // Requires: of the kernel.
  void Map(const MappingRecord& mapping);
  // Absent: no function is known there. At the recorded addresses; of a module
  // "NAME [MODULE]".
  std::optional<base::LocalSymbol> Find(std::uint64_t address);
  // An address in the function of a caller's frame that goes on at `next`, as
  // a recorder's KernelNames has it.
  std::uint64_t CallerAddress(std::uint64_t next);
  // Why functions that were asked for have no names; empty: they have.
  std::string why_not() const;

 private:
  struct Module {
    std::uint64_t end = 0;
    std::string name, build_id;
    bool is_looked_up = false;
    std::optional<std::uint64_t> moved_by;  // absent: it is not here
  };

  void Choose();
  bool Take(const std::string& kallsyms);
  bool TakeElf(const std::string& path);
  void LookUp(std::uint64_t begin, Module& module);

  const FileDescription& file_;
  const MachineFiles& machine_;
  std::map<std::uint64_t, Module> modules_;  // by begin
  // The symbol whose address the file has.
  std::string reference_, build_id_;
  std::uint64_t reference_at_ = 0;
  bool is_chosen_ = false, is_running_ = false;
  base::LocalSymbols symbols_;  // as they are here
  std::uint64_t moved_by_ = 0;  // from here to the file, modulo 2^64
  std::string why_not_, unknown_module_;
};

}  // namespace countrace::importer::perf

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PERF_KERNEL_SYMBOLS_H_
