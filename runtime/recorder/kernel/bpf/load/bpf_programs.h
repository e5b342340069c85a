// The loaded BPF programs of kernel_programs.bpf.c, and the memory shared with
// them.
//
// Nothing is pinned: when this process ends, for any reason, the kernel
// detaches and frees all of it. Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_LOAD_BPF_PROGRAMS_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_LOAD_BPF_PROGRAMS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/posix/scoped_fd.h"
#include "logformat/packet_layout.h"
#include "runtime/recorder/kernel/bpf/load/bpf_counters.h"
#include "runtime/recorder/kernel/bpf/load/bpf_program_options.h"
#include "runtime/recorder/kernel/hooks/kernel_ring.h"
#include "runtime/recorder/samples/local_symbols.h"

struct kernel_programs;  // the generated skeleton
struct bpf_link;
struct bpf_prog_info;
struct ring_buffer;

namespace countrace::runtime {

class BpfPrograms {
 public:
  // Loads and attaches them; they record nothing before DumpCounters(). Adds to
  // `left_out` the parts of `options.hooks` that this kernel cannot do.
  // Returns: PERMISSION_DENIED (CAP_BPF, CAP_PERFMON); UNIMPLEMENTED a kernel
  // without BPF, BTF or one of the tracepoints; RESOURCE_EXHAUSTED memory.
  static absl::StatusOr<std::unique_ptr<BpfPrograms>> Load(
      const BpfProgramOptions& options,
      std::vector<logformat::NotRecorded>& left_out);
  ~BpfPrograms();
  BpfPrograms(const BpfPrograms&) = delete;
  BpfPrograms& operator=(const BpfPrograms&) = delete;

  // Dumps the counters of `cpu` on that CPU, as one record. kBegin: recording
  // starts there with this record; kEnd: it stops with it.
  absl::Status DumpCounters(std::uint32_t cpu, logformat::CountersReason reason,
                            std::uint32_t set = 0);
  BpfCounters& counters() { return counters_; }
  // The kernel's function at `address`, if it has one there.
  std::optional<LocalSymbol> NameKernelCode(std::uint64_t address) const;
  // Whether the start of a counted program makes wake_descriptor() readable,
  // once; it is not readable afterwards.
  void WakeAtPrograms(bool wake);
  int wake_descriptor() const;
  // The maps of off_cpu.bpf.h.
  struct OffCpuMaps {
    int stacks = -1, ring = -1, sums = -1, copies = -1;
  };
  OffCpuMaps off_cpu_maps() const;
  // Begins to take stacks of threads off CPU, or ends it: then no program that
  // takes one is running.
  absl::Status TakeOffCpu(bool take);
  // System calls and faults as segments, of which the programs were loaded:
  // attaches their programs, or detaches them.
  absl::Status AttachCalls(bool attach);
  void Detach();
  // Marks a process; its later children inherit the mark.
  absl::Status Mark(std::int32_t pid);
  bool IsMarked(std::int32_t pid) const;
  std::vector<std::int32_t> MarkedProcesses() const;
  // Leaves out the hooks of process `pid` until it calls exec. 0: of none.
  void SetStarting(std::int32_t pid);
  // Times that a program did not run because it was already running on that
  // CPU: records are missing.
  std::uint64_t missed_runs() const;
  // The dynamic hooks of kernel functions, by number, that have kprobes because
  // the kernel refused their fentry.
  const auto& functions_not_traced() const { return functions_not_traced_; }
  // Run time of all programs while the kernel measured it, ns; without probes'
  // program if the cost of probes was measured.
  std::uint64_t run_time_ns() const;
  std::uint64_t whole_run_time_ns() const;  // with probes
  // What they had no room for or could not look up, for the user: marks, states
  // of dump rules, callers.
  void Describe(std::vector<logformat::NotRecorded>& left_out) const;

  // `slot`: index of the CPU in BpfProgramOptions::cpus.
  std::byte* ring(std::size_t slot) const;
  countrace_ring_control& control(std::size_t slot) const;
  // Actual size of each ring: older kernels have a limit of a few MiB.
  std::uint64_t ring_bytes() const { return ring_bytes_; }

 private:
  BpfPrograms() = default;
  // Runs the program that dumps counters on `cpu`. Returns: 0 or an errno.
  int RunDump(std::uint32_t cpu, countrace_dump_request request);
  // `without`: descriptors of programs.
  std::uint64_t SumOverPrograms(
      std::uint64_t (*value)(const bpf_prog_info& info),
      const std::set<int>& without = {}) const;
  // Returns: 0 or an errno.
  int OpenAndLoad(const BpfProgramOptions& options,
                  std::vector<logformat::NotRecorded>& left_out);
  absl::Status Open(const BpfProgramOptions& options,
                    std::vector<logformat::NotRecorded>& left_out);
  absl::Status MapMemory();
  // Makes ids of records those of this process's pid namespace.
  absl::Status FindPidNamespace();
  absl::Status OpenCounters(const BpfProgramOptions& options);
  absl::Status Attach(const BpfProgramOptions& options,
                      std::vector<logformat::NotRecorded>& left_out);
  absl::Status AttachFaults(const BpfProgramOptions& options);

  kernel_programs* skeleton_ = nullptr;
  std::vector<std::uint32_t> cpus_;  // by slot
  std::uint64_t ring_bytes_ = 0;
  std::byte* rings_ = nullptr;
  std::size_t rings_bytes_ = 0;
  countrace_ring_control* controls_ = nullptr;
  std::size_t controls_bytes_ = 0;
  BpfCounters counters_;
  bool probes_measured_ = false, functions_measured_ = false;
  ring_buffer* wake_ring_ = nullptr;
  std::vector<bpf_link*> links_;       // beside those of the skeleton
  std::vector<bpf_link*> fault_ends_;  // of AttachCalls()
  std::vector<base::ScopedFd> joint_links_;
  std::vector<base::ScopedFd> function_programs_;  // copies, see there
  std::vector<std::size_t> functions_not_traced_;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_LOAD_BPF_PROGRAMS_H_
