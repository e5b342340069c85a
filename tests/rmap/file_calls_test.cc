// The table of files, from the values of system calls: paths, descriptors, and
// what happens to these.
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "logformat/read/trace_reader.h"
#include "rmap/pipeline.h"
#include "tests/support/trace_builder.h"

namespace countrace::rmap {
namespace {

using logformat::kSwitchRunnable;
using test_support::Payload;
using test_support::TempDirectory;
using test_support::TraceBuilder;

constexpr std::int32_t kShell = 40, kTool = 50;
constexpr std::int64_t kCwd = -100, kCloseOnExec = 02000000;
constexpr std::int64_t kNoEntry = -2;

// A machine with one CPU on which system calls follow each other.
class Calls {
 public:
  Calls() {
    trace_.SetCpuEvents({"task-clock"});
    openat_ = Add("openat", "isi/s", "dfd,filename,flags,filename");
    open_ = Add("open", "s/", "filename");
    read_ = Add("read", "iu/", "fd,count");
    write_ = Add("write", "iu/", "fd,count");
    close_ = Add("close", "i/", "fd");
    dup2_ = Add("dup2", "ii/", "oldfd,newfd");
    fstat_ = Add("newfstatat", "is/", "dfd,filename");
    mmap_ = Add("mmap", "uu/", "len,fd");
    getpid_ = trace_.AddKernelHook("kernel-segment", "syscall", "getpid");
    trace_.Cpu(0).Counters(now_, logformat::CountersReason::kBegin, kShell,
                           {0});
  }

  // `late`: what the exit has.
  void Call(std::uint32_t hook, std::int32_t pid, std::int64_t ret,
            const Payload& values, const Payload& late = {}) {
    Run(pid);
    const auto ids = logformat::PackDispatch(
        static_cast<std::uint32_t>(pid), static_cast<std::uint32_t>(pid), 0);
    trace_.Cpu(0).KernelHook(now_ += 10, static_cast<std::uint16_t>(hook * 2),
                             ids, {}, std::nullopt, values);
    trace_.Cpu(0).KernelHook(now_ += 100,
                             static_cast<std::uint16_t>(hook * 2 + 1), ids, {},
                             ret, late);
  }
  void Open(std::int32_t pid, const std::string& path, std::int64_t ret,
            std::int64_t flags = 0) {
    Call(openat_, pid, ret, {kCwd, path, flags}, {std::string()});
  }
  void Read(std::int32_t pid, std::int64_t fd, std::int64_t ret) {
    Call(read_, pid, ret, {fd, std::uint64_t{4096}});
  }
  void Fork(std::int32_t parent, std::int32_t child) {
    trace_.Cpu(0).Fork(now_ += 10, child, child, parent, parent);
  }
  void Exec(std::int32_t pid) {
    Run(pid);
    trace_.Cpu(0).Exec(now_ += 10, pid, pid, "tool");
  }
  void Lose() {
    Run(kShell);
    trace_.Cpu(0).writer().CountDiscarded(
        logformat::DiscardCause::kKernelRingFull, 1);
    trace_.Cpu(0).Comm(now_ += 10, kShell, kShell, "shell");
  }

  Report Read() {
    Run(kShell);
    now_ += 10;
    trace_.Cpu(0).Counters(now_, logformat::CountersReason::kEnd, kShell,
                           {now_});
    trace_.Finish();
    auto reader = logformat::TraceReader::Open(trace_.directory());
    REQUIRE(reader.ok());
    auto report = Reconstruct(**reader, {});
    REQUIRE(report.ok());
    return *std::move(report);
  }

  std::uint32_t openat_, open_, read_, write_, close_, dup2_, fstat_, mmap_,
      getpid_;

 private:
  std::uint32_t Add(const std::string& name, const std::string& types,
                    const std::string& names) {
    return trace_.AddKernelHook("kernel-segment", "syscall", name, types,
                                names);
  }

  void Run(std::int32_t tid) {
    if (tid == running_) return;
    now_ += 10;
    trace_.Cpu(0).Dispatch(now_, static_cast<std::uint32_t>(running_),
                           static_cast<std::uint32_t>(tid), kSwitchRunnable,
                           {now_});
    running_ = tid;
  }

  TempDirectory directory_{TempDirectory::Place::kMemory};
  TraceBuilder trace_{directory_ / "trace"};
  std::uint64_t now_ = 1000;
  std::int32_t running_ = kShell;
};

const FileRow& RowOf(const Report& report, std::int32_t pid,
                     const std::string& file) {
  for (const FileRow& row : report.files) {
    if (row.pid == pid && row.file == file) return row;
  }
  FAIL("no row of " << file << " in " << pid);
  return report.files.front();
}

}  // namespace

TEST_CASE("file_calls: opens, reads, writes and failures have their file",
          "[rmap][files]") {
  Calls calls;
  calls.Open(kShell, "/etc/passwd", 3);
  calls.Read(kShell, 3, 100);
  calls.Read(kShell, 3, 20);
  calls.Call(calls.write_, kShell, 7, {std::int64_t{3}, std::uint64_t{7}});
  calls.Call(calls.fstat_, kShell, 0, {std::int64_t{3}, std::string()});
  calls.Call(calls.close_, kShell, 0, {std::int64_t{3}});
  calls.Read(kShell, 3, -9);
  calls.Open(kShell, "/missing", kNoEntry);
  calls.Call(calls.open_, kShell, kNoEntry, {std::string("/missing")});
  calls.Call(calls.mmap_, kShell, 4096,
             {std::uint64_t{1}, std::uint64_t{0xffffffff}});
  calls.Call(calls.getpid_, kShell, kShell, {});
  const Report report = calls.Read();
  REQUIRE(report.file_values);

  const FileRow& passwd = RowOf(report, kShell, "/etc/passwd");
  CHECK(passwd.calls == 6);
  CHECK(passwd.opens == 1);
  CHECK(passwd.failed_opens == 0);
  CHECK(passwd.reads == 2);
  CHECK(passwd.read_bytes == 120);
  CHECK(passwd.writes == 1);
  CHECK(passwd.written_bytes == 7);
  CHECK(passwd.wall_ns == 600);
  CHECK(passwd.quality == Quality::kExact);
  const FileRow& missing = RowOf(report, kShell, "/missing");
  CHECK(missing.opens == 2);
  CHECK(missing.failed_opens == 2);
  CHECK(missing.errors.find(2)->second == 2);
  CHECK(RowOf(report, kShell, "(fd 3)").reads == 1);
  CHECK(RowOf(report, kShell, "(no file)").calls == 1);
  CHECK(report.files.size() == 4);  // getpid() has none
}

TEST_CASE("file_calls: descriptors are copied, inherited and closed",
          "[rmap][files]") {
  Calls calls;
  calls.Open(kShell, "kept", 3);
  calls.Open(kShell, "private", 4, kCloseOnExec);
  calls.Call(calls.dup2_, kShell, 1, {std::int64_t{3}, std::int64_t{1}});
  calls.Call(calls.dup2_, kShell, 3, {std::int64_t{9}, std::int64_t{3}});
  calls.Fork(kShell, kTool);
  calls.Read(kTool, 4, 1);
  calls.Exec(kTool);
  calls.Read(kTool, 1, 2);
  calls.Read(kTool, 4, 4);
  calls.Read(kTool, 3, 8);
  calls.Read(kShell, 4, 16);
  const Report report = calls.Read();
  CHECK(RowOf(report, kTool, "private").read_bytes == 1);
  CHECK(RowOf(report, kTool, "kept").read_bytes == 2);
  CHECK(RowOf(report, kTool, "(fd 4)").read_bytes == 4);
  CHECK(RowOf(report, kTool, "(fd 3)").read_bytes == 8);
  CHECK(RowOf(report, kShell, "private").read_bytes == 16);
}

TEST_CASE("file_calls: a path that the enter cannot read is the exit's",
          "[rmap][files]") {
  Calls calls;
  const std::string unreadable = "(unreadable)";
  calls.Call(calls.openat_, kShell, 3, {kCwd, unreadable, std::int64_t{0}},
             {std::string("/late")});
  calls.Read(kShell, 3, 5);
  calls.Open(kShell, "/late", 4);
  calls.Open(kShell, unreadable, kNoEntry);
  const Report report = calls.Read();
  CHECK(RowOf(report, kShell, "/late").opens == 2);
  CHECK(RowOf(report, kShell, "/late").read_bytes == 5);
  CHECK(RowOf(report, kShell, unreadable).failed_opens == 1);
}

TEST_CASE("file_calls: after a loss no descriptor is known", "[rmap][files]") {
  Calls calls;
  calls.Open(kShell, "/etc/passwd", 3);
  calls.Lose();
  calls.Read(kShell, 3, 5);
  calls.Open(kShell, "/etc/group", 3);
  calls.Read(kShell, 3, 7);
  const Report report = calls.Read();
  CHECK(RowOf(report, kShell, "(fd 3)").read_bytes == 5);
  const FileRow& group = RowOf(report, kShell, "/etc/group");
  CHECK(group.read_bytes == 7);
  // A call on it may be among the lost ones.
  REQUIRE(group.bounds.Of(Number::kCalls));
  CHECK(group.bounds.Of(Number::kCalls)->hi >= 3);
  REQUIRE(group.bounds.Of(Number::kReadBytes));
}

}  // namespace countrace::rmap
