// What a perf.data may need of this machine: the files whose code was sampled,
// and what the kernel says of itself.
// Who converts may not open them itself (base/jail/process_jail.h).
//
// Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PERF_MACHINE_FILES_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PERF_MACHINE_FILES_H_

#include <cstdint>
#include <functional>
#include <string>

#include "base/posix/scoped_fd.h"

namespace countrace::importer::perf {

struct MachineFiles {
  // A program or library, to be read; not open: there is none. Empty function:
  // files are not looked at.
  std::function<base::ScopedFd(const std::string& path)> object;
  // A file jit-PID.dump or /tmp/perf-PID.map of this user or root, to be read;
  // not open: errno says why.
  std::function<base::ScopedFd(const std::string& path)> jit_file;
  // To be read: "kallsyms", "modules", "notes" (of the running kernel),
  // "module/NAME" (notes of a loaded one), "kept/BUILDID" (perf's copy of a
  // kernel's kallsyms).
  std::function<base::ScopedFd(const std::string& what)> kernel;
  // A file that was changed later is none that was recorded; 0: not known.
  std::int64_t recorded_until_ns = 0;
};

}  // namespace countrace::importer::perf

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PERF_MACHINE_FILES_H_
