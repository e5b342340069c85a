// More than 400 lines: one class, a function for each kind of perf record.
#include "logformat/import/perf/perf_conversion.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "logformat/import/ctf/user_events.h"
#include "logformat/import/kernel/cpu_records.h"
#include "logformat/import/kernel/kernel_events.h"
#include "logformat/import/perf/byte_reader.h"
#include "logformat/import/perf/clock_description.h"
#include "logformat/import/perf/data_file.h"
#include "logformat/import/perf/file_layout.h"
#include "logformat/import/perf/group_counts.h"
#include "logformat/import/perf/losses.h"
#include "logformat/import/perf/running_threads.h"
#include "logformat/import/perf/sample.h"
#include "logformat/import/perf/sample_plans.h"
#include "logformat/import/perf/sample_stacks.h"
#include "logformat/import/perf/task_records.h"
#include "logformat/import/perf/timed_records.h"
#include "logformat/import/perf/tracepoint_formats.h"

namespace countrace::importer::perf {

namespace {

class PerfConversion final : public RecordReceiver {
 public:
  PerfConversion(std::span<const std::byte> bytes, FileDescription file,
                 const Mapping& mapping, const MachineFiles& machine,
                 TraceOutput& output, const Progress& progress)
      : file_(std::move(file)),
        mapping_(mapping),
        output_(output),
        progress_(progress),
        user_(output, mapping),
        records_(output, "perf event"),
        kernel_(records_, output),
        tasks_(records_, file_),
        losses_(records_, user_),
        stacks_(file_, machine, records_, output),
        timed_(bytes, file_, *this) {}

  absl::Status Convert();

  absl::Status OnUntimed(const RawRecord& record) override;
  absl::Status OnTimed(std::uint64_t time_ns, const RawRecord& record,
                       const EventAttribute& attribute,
                       const Sample& sample) override;
  absl::Status OnProgress(std::uint64_t done_bytes) override;

 private:
  absl::Status Describe();
  void PrepareHooks();
  void OnSample(std::uint64_t time_ns, const EventAttribute& attribute,
                const Sample& sample, std::uint16_t misc);
  absl::Status OnOther(std::uint64_t time_ns, const RawRecord& record,
                       const Sample& sample);
  void ToUser(const SamplePlan& plan, const SampleEvent& event,
              const Sample& sample, CpuBooks& cpu, std::uint64_t time_ns);
  const SamplePlan& OfSyscall(const SamplePlan& plan, const SampleEvent& event);
  CpuBooks& CpuAt(const Sample& sample, std::uint64_t time_ns);
  void MapTask(const RawRecord& record);
  void Finish();

  const FileDescription file_;
  const Mapping& mapping_;
  TraceOutput& output_;
  const Progress& progress_;
  TracepointFormats formats_;
  SamplePlans plans_;
  UserEvents user_;
  CpuRecords records_;
  KernelEvents kernel_;
  TaskRecords tasks_;
  Losses losses_;
  SampleStacks stacks_;
  TimedRecords timed_;
  std::unique_ptr<GroupCounts> counts_;
  std::unique_ptr<RunningThreads> running_;
  // Plans of raw_syscalls, by the system call's number.
  std::map<std::pair<const SamplePlan*, std::int64_t>, SamplePlan> syscalls_;
  SourceStream stream_;
  bool begins_with_sample_ = false;
  std::uint64_t first_ns_ = 0, last_ns_ = 0;
  struct Sampled {
    std::uint64_t samples = 0, periods = 0;
  };
  std::map<std::string, Sampled> sampled_;
};

absl::Status PerfConversion::Describe() {
  if (!timed_.status().ok()) return timed_.status();
  logformat::TraceInfo& info = output_.description().info;
  if (absl::Status status = DescribeClock(file_, info); !status.ok())
    return status;
  if (!file_.tracing_data.empty()) {
    if (absl::Status status = formats_.Read(file_.tracing_data); !status.ok()) {
      return status;
    }
  }
  if (absl::Status status = plans_.Make(file_, formats_, mapping_, info);
      !status.ok()) {
    return status;
  }
  info.hostname = file_.hostname;
  info.kernel_release = file_.os_release;
  info.command = file_.command;
  info.cpus = file_.cpus;
  info.scope = file_.system_wide ? logformat::SessionScope::kSystem
                                 : logformat::SessionScope::kCommand;
  info.source = file_.version.empty() ? "perf" : "perf " + file_.version;
  counts_ = std::make_unique<GroupCounts>(file_, plans_.all(), info);
  const bool switch_records = std::any_of(
      file_.attributes.begin(), file_.attributes.end(),
      [](const EventAttribute& one) { return one.Has(kContextSwitch); });
  KernelClasses classes = plans_.classes();
  const bool from_samples = classes.sched_switch;
  classes.sched_switch |= switch_records;
  begins_with_sample_ = file_.system_wide && from_samples && !switch_records;
  if (classes.sched_switch) {
    if (counts_->of_cpus()) classes.counters = counts_->events();
  } else {
    const bool leaves = std::any_of(plans_.all().begin(), plans_.all().end(),
                                    [](const SamplePlan& plan) {
                                      return plan.name == "sched:sched_switch";
                                    });
    info.not_known.push_back(absl::StrFormat(
        "who ran when (%s): on-CPU times, dispatches and waiting are absent, "
        "not 0; record with --switch-events%s",
        leaves ? "sched:sched_switch of a command shows when its threads "
                 "leave a CPU, not when they come"
               : "no context switches in it",
        file_.system_wide || leaves ? " or -a -e sched:sched_switch" : ""));
  }
  kernel_.SetClasses(classes);
  running_ = std::make_unique<RunningThreads>(
      records_, !file_.system_wide, /*ignored=*/!switch_records, from_samples);
  if (switch_records && !from_samples) {
    info.not_known.push_back(
        "how threads waited (switch events do not distinguish S from D; -e "
        "sched:sched_switch does)");
  }
  if (!counts_->of_cpus()) {
    info.thread_events = counts_->events();
    user_.SetCounters(counts_->events().size(), counts_->uncertain());
  }
  PrepareHooks();
  return absl::OkStatus();
}

void PerfConversion::PrepareHooks() {
  for (const SamplePlan& plan : plans_.all()) {
    if (plan.kind == EventKind::kIgnored) continue;
    stacks_.Prepare(*plan.attribute, NameOf(*plan.attribute, formats_));
  }
  bool any = false;
  // An end may precede the first begin, which describes its hook.
  for (const bool begins : {true, false}) {
    for (SamplePlan& plan : plans_.all()) {
      const bool begin = plan.kind == EventKind::kEnter ||
                         plan.kind == EventKind::kRequestBegin;
      if (plan.to_kernel || plan.kind == EventKind::kIgnored ||
          begin != begins || plan.attribute->sample_period == 0) {
        continue;
      }
      const bool dummy = plan.attribute->type == PERF_TYPE_SOFTWARE &&
                         plan.attribute->config == PERF_COUNT_SW_DUMMY;
      if (dummy) continue;
      user_.Prepare(plan);
      any = true;
    }
  }
  losses_.set_has_user_hooks(any);
}

absl::Status PerfConversion::OnUntimed(const RawRecord& record) {
  if (record.type == kIdIndex) return tasks_.ReadIdIndex(record);
  if (record.type >= kFirstUserRecord) return absl::OkStatus();
  if (record.type == PERF_RECORD_MMAP || record.type == PERF_RECORD_MMAP2) {
    return stacks_.OnMapping(record) ? absl::OkStatus()
                                     : timed_.Malformed(record);
  }
  const bool whole = record.type == PERF_RECORD_LOST_SAMPLES
                         ? losses_.TakeTotal(record, file_.swapped)
                         : tasks_.TakeInitial(record);
  return whole ? absl::OkStatus() : timed_.Malformed(record);
}

absl::Status PerfConversion::OnProgress(std::uint64_t done_bytes) {
  progress_(done_bytes, last_ns_);
  return output_.CheckSize();
}

CpuBooks& PerfConversion::CpuAt(const Sample& sample, std::uint64_t time_ns) {
  return records_.CpuOf(running_->CpuOf(sample), time_ns);
}

absl::Status PerfConversion::OnTimed(std::uint64_t time_ns,
                                     const RawRecord& record,
                                     const EventAttribute& attribute,
                                     const Sample& sample) {
  last_ns_ = time_ns;
  if (first_ns_ == 0) {
    // perf enables its events some time after its first task records: the
    // threads that ran in between are not known. Losses concern enabled events.
    const bool begins = record.type == PERF_RECORD_SAMPLE ||
                        record.type == PERF_RECORD_LOST ||
                        record.type == PERF_RECORD_LOST_SAMPLES;
    if (begins_with_sample_ && !begins) return OnUntimed(record);
    first_ns_ = time_ns;
    for (const std::int32_t cpu : tasks_.cpus()) {
      if (file_.system_wide) records_.CpuOf(cpu, time_ns);
    }
  }
  if (record.type == PERF_RECORD_SAMPLE) {
    OnSample(time_ns, attribute, sample, record.misc);
    return output_.status();
  }
  return OnOther(time_ns, record, sample);
}

const SamplePlan& PerfConversion::OfSyscall(const SamplePlan& plan,
                                            const SampleEvent& event) {
  const std::size_t role = plan.kind == EventKind::kSyscallExit ? 1 : 0;
  const std::int64_t number = plan.Field(event, role).value_or(-1);
  const auto [at, added] = syscalls_.try_emplace({&plan, number});
  if (added) {
    at->second = plan;
    at->second.hook_name = SyscallName(file_.arch, number);
  }
  return at->second;
}

void PerfConversion::OnSample(std::uint64_t time_ns,
                              const EventAttribute& attribute,
                              const Sample& sample, std::uint16_t misc) {
  const SamplePlan& plan = plans_.Of(file_, attribute);
  CpuBooks& cpu = CpuAt(sample, time_ns);
  tasks_.Seen(cpu, time_ns, sample.pid, sample.tid);
  running_->Seen(cpu, time_ns, sample.tid);
  const auto counts = counts_->Take(
      attribute, sample, counts_->of_cpus() ? cpu.number : sample.tid);
  if (counts_->of_cpus() && !counts.empty()) {
    records_.SetCounts(cpu, time_ns, counts);
  }
  if (plan.kind == EventKind::kIgnored) return;
  const bool stored = stacks_.OnSample(cpu, time_ns, attribute, sample, misc);
  const SampleEvent event(sample, plan, counts, formats_.big_endian());
  stream_.cpu = cpu.number;
  stream_.per_cpu = true;
  if (plan.to_kernel) {
    kernel_.OnEvent({event, time_ns, stream_},
                    plan.raw_syscall ? OfSyscall(plan, event) : plan);
    return;
  }
  if (!plan.tracepoint) {
    Sampled& sampled = sampled_[plan.name];
    ++sampled.samples;
    sampled.periods += sample.period;
    // What else a point of the thread would say, beside the stack.
    const bool has_more = !counts.empty();
    if (stored && !has_more && plan.name.starts_with("sample:")) return;
  }
  ToUser(plan, event, sample, cpu, time_ns);
}

void PerfConversion::ToUser(const SamplePlan& plan, const SampleEvent& event,
                            const Sample& sample, CpuBooks& cpu,
                            std::uint64_t time_ns) {
  if (sample.tid > 0 && sample.pid > 0) {
    user_.OnEvent({event, time_ns, stream_}, plan);
    return;
  }
  // The idle thread, or one that has ended: it has no stream.
  const std::size_t colon = plan.name.find(':');
  const std::string provider =
      colon == std::string::npos ? "perf" : plan.name.substr(0, colon);
  HookCall call;
  call.hook = records_.HookOf(
      logformat::HookOrigin::kKernel, logformat::HookKind::kPoint, provider,
      plan.name.substr(colon == std::string::npos ? 0 : colon + 1));
  records_.Call(cpu, time_ns, call);
}

// The mappings of a new program or process.
void PerfConversion::MapTask(const RawRecord& record) {
  ByteReader body(record.body, file_.swapped);
  const std::int32_t pid = body.I32(), parent_pid = body.I32();
  if (record.type == PERF_RECORD_COMM) {
    if ((record.misc & PERF_RECORD_MISC_COMM_EXEC) != 0) {
      stacks_.NewProgram(pid);
    }
  } else if (record.type == PERF_RECORD_FORK) {
    stacks_.Fork(parent_pid, pid);
  }
}

absl::Status PerfConversion::OnOther(std::uint64_t time_ns,
                                     const RawRecord& record,
                                     const Sample& sample) {
  ByteReader body(record.body, file_.swapped);
  switch (record.type) {
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2:
      if (!stacks_.OnMapping(record)) return timed_.Malformed(record);
      break;
    case PERF_RECORD_COMM:
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT: {
      CpuBooks& cpu = CpuAt(sample, time_ns);
      tasks_.Seen(cpu, time_ns, sample.pid, sample.tid);
      running_->Seen(cpu, time_ns, sample.tid);
      if (!tasks_.OnRecord(cpu, time_ns, record))
        return timed_.Malformed(record);
      MapTask(record);
      if (record.type == PERF_RECORD_EXIT) {
        running_->Gone(cpu, time_ns, sample.tid);
        stacks_.OnExit(cpu, time_ns, sample.pid, sample.tid);
      }
      break;
    }
    case PERF_RECORD_SWITCH:
    case PERF_RECORD_SWITCH_CPU_WIDE: {
      std::int32_t other_tid = -1;
      CpuBooks& cpu = CpuAt(sample, time_ns);
      tasks_.Seen(cpu, time_ns, sample.pid, sample.tid);
      if (record.type == PERF_RECORD_SWITCH_CPU_WIDE) {
        const std::int32_t other_pid = body.I32();
        other_tid = body.I32();
        if (!body.ok()) return timed_.Malformed(record);
        tasks_.Seen(cpu, time_ns, other_pid, other_tid);
      }
      if ((record.misc & PERF_RECORD_MISC_SWITCH_OUT) != 0) {
        running_->Out(cpu, time_ns, sample.tid, other_tid,
                      (record.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0);
      } else {
        running_->In(cpu, time_ns, sample.tid, other_tid);
      }
      break;
    }
    case PERF_RECORD_LOST:
    case PERF_RECORD_LOST_SAMPLES: {
      const std::int32_t cpu = running_->CpuOf(sample);
      const auto books = records_.cpus().find(cpu);
      const std::uint64_t before_ns =
          books == records_.cpus().end() ? time_ns : books->second.last_ns;
      if (!losses_.OnRecord(cpu, before_ns, time_ns, record, file_.swapped)) {
        return timed_.Malformed(record);
      }
      break;
    }
    case PERF_RECORD_THROTTLE:
      losses_.OnThrottle();
      break;
    default:
      break;
  }
  return output_.status();
}

void PerfConversion::Finish() {
  logformat::TraceInfo& info = output_.description().info;
  if (file_.system_wide) {
    for (const auto& [number, cpu] : records_.cpus()) {
      records_.Until(number, last_ns_);
    }
  }
  stacks_.Finish(info);
  losses_.Finish(last_ns_, file_.unfinished, info);
  records_.Finish();
  user_.Finish();
  counts_->Finish(info);
  info.begin_ns = first_ns_ != 0 ? first_ns_ : last_ns_;
  info.root_pid = file_.system_wide ? 0 : tasks_.root_pid();
  if (info.cpus == 0) {
    info.cpus = static_cast<std::uint32_t>(records_.cpus().size());
  }
  if (file_.missing_features != 0) {
    info.not_known.push_back(absl::StrFormat(
        "what perf writes behind the records, %d of %d parts (the machine, "
        "names of events and tracepoints, build ids): the file is cut there, "
        "its records are complete; copy it again",
        file_.missing_features, file_.features));
  }
  for (const auto& [name, sampled] : sampled_) {
    const auto samples = static_cast<double>(sampled.samples);
    info.not_known.push_back(absl::StrFormat(
        "how many `%s` there were: they were sampled; the %d points stand for "
        "about %d in all, %.0f each, and n of them for n times that, give or "
        "take sqrt(n) times it",
        name.substr(name.find(':') + 1), sampled.samples, sampled.periods,
        static_cast<double>(sampled.periods) / std::max(samples, 1.0)));
  }
  if (running_->made_up_cpus()) {
    info.not_known.push_back(
        "which CPUs threads ran on (no CPU in the records): each thread has a "
        "number of its own, and migrations are not known; record with "
        "--sample-cpu");
  }
  timed_.Finish(info);
}

absl::Status PerfConversion::Convert() {
  if (absl::Status status = Describe(); !status.ok()) return status;
  if (absl::Status status = timed_.Read(); !status.ok()) return status;
  Finish();
  return output_.status();
}

}  // namespace

absl::Status ConvertPerfData(std::span<const std::byte> bytes,
                             const Mapping& mapping,
                             const MachineFiles& machine, TraceOutput& output,
                             const Progress& progress) {
  auto file = DescribeFile(bytes);
  if (!file.ok()) return file.status();
  return PerfConversion(bytes, *std::move(file), mapping, machine, output,
                        progress)
      .Convert();
}

}  // namespace countrace::importer::perf
