// Functions that a compiler at run time made, where the recorded process
// described them in a file jit-PID.dump that still lies where it mapped it, or
// in /tmp/perf-PID.map.
//
// In: mappings, addresses in such code, and the times of the samples. Out:
// names. Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PERF_JIT_SYMBOLS_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PERF_JIT_SYMBOLS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/code/jit_dump.h"
#include "base/code/local_symbols.h"
#include "base/code/name_limits.h"
#include "logformat/import/perf/machine_files.h"
#include "logformat/import/perf/mapping_record.h"

namespace countrace::importer::perf {

class JitSymbols {
 public:
  // `monotonic`: the times of the samples are CLOCK_MONOTONIC's. `machine` must
  // outlive this.
  JitSymbols(const MachineFiles& machine, bool monotonic)
      : machine_(machine), monotonic_(monotonic) {}

  void Map(const MappingRecord& mapping);
  // Those of the process at these addresses; none if there is no such file, or
  // one of another time than that of the samples, of which the last one was at
  // `last_ns`. Takes of `limits` what they need.
  std::vector<base::JitFunction> Names(std::int32_t pid,
                                       const std::set<std::uint64_t>& addresses,
                                       std::uint64_t last_ns,
                                       base::NameLimits& limits);
  // What Names() did not find, for the user.
  const std::vector<std::string>& messages() const { return messages_; }

 private:
  std::string WhyNot(int fd) const;
  std::string WhyNot(const base::JitDump& dump, int fd,
                     std::uint64_t last_ns) const;
  void Say(std::int32_t pid, const std::string& path, const std::string& why);
  base::JitDump ReadDump(std::int32_t pid,
                         const std::set<std::uint64_t>& addresses,
                         std::uint64_t last_ns, base::NameLimits& limits);
  base::LocalSymbols ReadMap(std::int32_t pid,
                             const std::set<std::uint64_t>& addresses,
                             base::NameLimits& limits);

  const MachineFiles& machine_;
  const bool monotonic_;
  std::map<std::int32_t, std::string> paths_;  // by process; its latest
  std::vector<std::string> messages_;
};

}  // namespace countrace::importer::perf

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PERF_JIT_SYMBOLS_H_
