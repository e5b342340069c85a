#include "cli/record/record_command_line.h"

#include <utility>

namespace countrace::cli {

void AddRecordOptions(VerbParser& parser, RecordCommandLine& line) {
  runtime::RecordOptions& record = line.record;
  parser.AddFlag("--all-cpus", record.system_wide);
  parser.AddTexts("--pid", line.pids);
  parser.AddText("--output", record.output);
  parser.AddFlag("--force", record.force);
  parser.AddDuration("--for", record.duration_ns);
  parser.AddFlag("--wait-all", record.wait_all);
  parser.AddTexts("--event", line.events);
  parser.AddTexts("--hook-events", line.hook_events);
  parser.AddText("--event-file", line.event_file);
  parser.AddText("--rotate", line.rotate);
  parser.AddTexts("--dump", record.dump_rules);
  parser.AddText("--dry-run-rules", line.dry_run_trace);
  parser.AddFormat(line.format, {"text", "json", "jsonl", "csv"});
  parser.AddText("--hooks", record.hook_filter);
  parser.AddChoice("--mode", line.mode, {"stream", "discard"});
  parser.AddText("--flight", line.flight);
  parser.AddDuration("--split", line.split_ns);
  parser.AddDuration("--keep", line.keep_ns);
  parser.AddBytes("--snapshots", line.snapshot_bytes);
  parser.AddTexts("--trigger", record.triggers);
  parser.AddBytes("--size", record.max_bytes);
  parser.AddBytes("--sub-buffer-size", record.sub_buffer_bytes);
  parser.AddNumber("--sub-buffers", line.sub_buffers, 1024);
  parser.AddBytes("--kernel-ring", record.kernel_ring_bytes);
  parser.AddText("--max-cpu", line.max_cpu);
  parser.AddChoice("--backend", line.backend, {"auto", "bpf", "perf", "lttng"});
  parser.AddTexts("--kernel", line.kernel_records);
  parser.AddFlag("--args", record.arguments);
  parser.AddChoice("--preset", line.preset,
                   {"latency", "syscalls", "io", "locks"});
  parser.AddTexts("--hook", record.dynamic_hooks);
  parser.AddTexts("--sample", record.samples);
  parser.AddText("--signal-every", record.signal_every);
  parser.AddText("--call-graph", record.call_graph);
  parser.AddFlag("--data", record.sample_data);
  parser.AddDuration("--offcpu", record.off_cpu_ns);
  parser.AddFlag("--wakeup-stacks", record.waker_stacks);
  parser.AddTexts("--mark", line.marks);
  parser.AddText("--count", line.count);
  parser.AddFlag("--best-effort", record.best_effort);
  parser.AddFlag("--no-kernel", line.no_kernel);
  parser.AddFlag("--no-fault-records", line.no_fault_records);
  parser.AddFailOnLoss(line.fail_on_loss);
  parser.AddFlag("--quiet", line.quiet);
  parser.TakeCommand(record.command);
}

std::vector<std::string> PresetWords(const std::string& preset) {
  // Waiting for a CPU, by whom it was ended, and what interrupts.
  if (preset == "latency") return {"wakeups", "irq", "softirq"};
  if (preset == "syscalls") return {"syscalls"};
  // Calls that wait for a disk, its requests, and the wake-ups between.
  if (preset == "io") return {"syscalls", "block", "wakeups", "irq", "softirq"};
  // A contended lock is a futex call that another thread's wake-up ends, or a
  // timeout.
  if (preset == "locks") return {"syscalls", "wakeups", "irq", "softirq"};
  return {};
}

std::vector<std::string> SplitNames(const std::vector<std::string>& lists) {
  std::vector<std::string> names;
  for (const std::string& list : lists) {
    std::string name;
    bool in_slashes = false;
    for (const char c : list + ",") {
      if (c == '/') in_slashes = !in_slashes;
      if (c != ',' || in_slashes) {
        name += c;
      } else if (!name.empty()) {
        names.push_back(std::exchange(name, {}));
      }
    }
    if (!name.empty()) names.push_back(name);
  }
  return names;
}

}  // namespace countrace::cli
