// Writes the first inputs of trace_read_fuzz: small real traces, finished and
// abandoned; and of user_folder_fuzz: the folder of another user. Run it once
// after the format changed; review its output.
//
// Usage: make_corpus CORPUS
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "tests/fuzz/directory_image.h"
#include "tests/support/trace_builder.h"

namespace {

using countrace::logformat::SwitchState;
using countrace::test_support::TempDirectory;
using countrace::test_support::TraceBuilder;

void Fill(TraceBuilder& trace) {
  trace.SetCpuEvents({"task-clock", "page-faults"});
  trace.SetPacketBytes(8192);
  const auto handle = trace.AddSegment("server", "handle", "us");
  const auto bytes = trace.AddPoint("server", "bytes", "d");
  const auto read = static_cast<std::uint16_t>(
      trace.AddKernelHook("kernel-segment", "syscall", "read") * 2);
  const auto timer = static_cast<std::uint16_t>(
      trace.AddKernelHook("interrupt", "irq", "timer") * 2);
  auto& cpu = trace.Cpu(0);
  cpu.ProcessState(1000, 100, 100, 1, 0, "server");
  cpu.Fork(1500, 101, 101, 100, 100);
  cpu.Exec(1600, 101, 101, "child");
  cpu.Dispatch(2000, 0, 100, SwitchState::kSwitchRunnable, {0, 0});
  cpu.Fault(2100, 100, 100, 0x7000);
  const std::uint64_t ids = 100 | 100ull << 24;
  cpu.KernelHook(2300, read, ids, {}, std::nullopt);
  cpu.KernelHook(2400, timer | 0x8000, ids, {400, 1}, std::nullopt);
  cpu.KernelHook(2500, timer | 0x8001, ids, {500, 1}, 0);
  cpu.KernelHook(2600, read | 1, ids, {}, -11);
  cpu.Dispatch(3000, 100, 101, SwitchState::kSwitchPreempted, {900, 1});
  cpu.Dispatch(4000, 101, 0, SwitchState::kSwitchInterruptible, {1800, 2});
  cpu.Exit(4100, 101, 101, 100, 100);
  auto& thread = trace.Thread(100, 100);
  thread.Enter(handle, 2050, {std::uint64_t{7}, std::string("GET")});
  thread.Point(bytes, 2200, {1.5});
  thread.Exit(handle, 2900);
}

// Kernel hooks with values at their enters and exits.
void FillValues(TraceBuilder& trace) {
  trace.SetCpuEvents({"task-clock", "page-faults"});
  trace.SetPacketBytes(8192);
  const auto open = static_cast<std::uint16_t>(
      trace.AddKernelHook("kernel-segment", "syscall", "openat", "isu/s",
                          "dfd,filename,flags,filename") *
      2);
  const auto hit = static_cast<std::uint16_t>(
      trace.AddKernelHook("probe-point", "prog", "hit", "dp", "x,event") * 2);
  auto& cpu = trace.Cpu(0);
  const std::uint64_t ids = 100 | 100ull << 24;
  cpu.Dispatch(2000, 0, 100, SwitchState::kSwitchRunnable, {0, 0});
  cpu.KernelHook(2300, open, ids, {}, std::nullopt,
                 {std::int64_t{-100}, std::string("(unreadable)"),
                  std::uint64_t{0x80000}});
  cpu.KernelHook(2400, hit | 0x8000, ids, {400, 1}, std::nullopt,
                 {1.5, countrace::test_support::Pointer{0x7000}});
  cpu.KernelHook(2600, open | 0x8001, ids, {500, 1}, 3,
                 {std::string("/etc/passwd")});
  cpu.Dispatch(3000, 100, 0, SwitchState::kSwitchInterruptible, {900, 1});
}

// Threads that alternate on a CPU, in calls that last longer than a dispatch.
void FillTurns(TraceBuilder& trace) {
  trace.SetCpuEvents({"task-clock"});
  trace.SetPacketBytes(8192);
  const std::uint32_t hooks[] = {trace.AddSegment("p", "outer"),
                                 trace.AddSegment("p", "inner")};
  constexpr std::int32_t kPid = 100, kThreads = 3, kTurns = 45, kCalls = 50;
  std::uint64_t now_ns = 1000;
  std::int32_t running = 0;
  for (std::int32_t thread = 0; thread < kThreads; ++thread) {
    trace.Thread(kPid, kPid + thread).Enter(hooks[0], now_ns, {});
  }
  for (std::int32_t turn = 0; turn < kTurns; ++turn) {
    const std::int32_t tid = kPid + turn % kThreads;
    now_ns += 100;
    if (turn % 4 == 2) trace.Cpu(0).Wakeup(now_ns, running, tid, 0);
    trace.Cpu(0).Dispatch(now_ns, running, tid,
                          turn % 5 == 0 ? SwitchState::kSwitchPreempted
                                        : SwitchState::kSwitchInterruptible,
                          {now_ns});
    running = tid;
    auto& stream = trace.Thread(kPid, tid);
    for (int call = 0; call < kCalls; ++call) {
      stream.Enter(hooks[call % 2], now_ns += 20, {});
      stream.Exit(hooks[call % 2], now_ns += 30);
    }
  }
}

// As user_folder_fuzz has its recording.
void FillFolder(TraceBuilder& trace) {
  trace.SetPacketBytes(2 * countrace::logformat::kPacketAlignBytes);
  trace.session().sub_buffer_bytes =
      2 * countrace::logformat::kPacketAlignBytes;
  trace.session().begin_ns = 1000;
  trace.session().scope = countrace::logformat::SessionScope::kHooksOnly;
  const std::uint32_t hook = trace.AddSegment("app", "users", "us");
  auto& thread = trace.Thread(100, 100);
  for (std::uint64_t i = 0; i < 5; ++i) {
    thread.Enter(hook, 1105 + 20 * i, {i, std::string("text")});
    thread.Exit(hook, 1115 + 20 * i);
  }
}

bool Write(const std::string& file, const std::string& directory) {
  const auto files = countrace::logformat::ReadDirectory(directory);
  const std::string image = countrace::fuzz::ToImage(files);
  const auto kept = countrace::fuzz::FromImage(
      {reinterpret_cast<const std::uint8_t*>(image.data()), image.size()});
  for (const auto& [name, content] : files) {
    if (kept.contains(name)) continue;
    std::fprintf(stderr, "%s: no image can have a file %s\n", directory.c_str(),
                 name.c_str());
    return false;
  }
  std::ofstream out(file, std::ios::binary);
  out << image;
  std::printf("%s: %zu bytes\n", file.c_str(), image.size());
  return !image.empty() && out.good();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string corpus = argv[1];
  const TempDirectory temporary;
  {
    TraceBuilder trace(temporary / "finished");
    Fill(trace);
    trace.Finish();
  }
  {
    TraceBuilder trace(temporary / "abandoned");
    Fill(trace);
    trace.Abandon();
  }
  {
    TraceBuilder trace(temporary / "turns");
    FillTurns(trace);
    trace.Finish();
  }
  {
    TraceBuilder trace(temporary / "values");
    FillValues(trace);
    trace.Abandon();
  }
  {
    TraceBuilder trace(temporary / "folder");
    FillFolder(trace);
    trace.Abandon();
    // Only its counts are read; most of an input would be its room.
    std::filesystem::remove(temporary / "folder/.session");
  }
  const std::string traces = corpus + "/trace_read";
  const bool written =
      Write(traces + "/finished", temporary / "finished") &&
      Write(traces + "/abandoned", temporary / "abandoned") &&
      Write(traces + "/turns", temporary / "turns") &&
      Write(traces + "/values", temporary / "values") &&
      Write(corpus + "/user_folder/records", temporary / "folder");
  return written ? 0 : 1;
}
