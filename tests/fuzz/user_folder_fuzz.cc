// Any files as another user's folder in a recording: the recorder's own stream
// has all its records, and nothing of the folder is left. Input: a directory
// image.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "logformat/read/trace_reader.h"
#include "logformat/repair/trace_finish.h"
#include "logformat/repair/trace_verify.h"
#include "logformat/repair/user_folder.h"
#include "logformat/session_layout.h"
#include "tests/fuzz/directory_image.h"
#include "tests/logformat/directory_bytes.h"
#include "tests/support/trace_builder.h"

namespace {

using countrace::logformat::DirectoryBytes;
using countrace::test_support::TempDirectory;

constexpr std::int32_t kOwnPid = 4100000;  // no process of this machine
constexpr std::uint64_t kRecords = 20;

void Require(bool ok) {
  if (!ok) std::abort();
}

struct OwnRecords final : countrace::logformat::ItemSink {
  void OnRecord(const countrace::logformat::EventRecord& record) override {
    count += record.pid == kOwnPid ? 1 : 0;
  }
  void OnDiscardedEvents(
      const countrace::logformat::DiscardedEvents&) override {}
  void OnDiscardedPackets(
      const countrace::logformat::DiscardedPackets&) override {}
  std::uint64_t count = 0;
};

// A recording with a stream of the recorder's own user, as one that was killed
// leaves it.
DirectoryBytes Recording(const std::string& path) {
  countrace::test_support::TraceBuilder trace(path);
  trace.SetPacketBytes(2 * countrace::logformat::kPacketAlignBytes);
  trace.session().sub_buffer_bytes =
      2 * countrace::logformat::kPacketAlignBytes;
  trace.session().begin_ns = 1000;
  trace.session().scope = countrace::logformat::SessionScope::kHooksOnly;
  const std::uint32_t hook = trace.AddPoint("app", "own", "u");
  for (std::uint64_t i = 0; i < kRecords; ++i) {
    trace.Thread(kOwnPid, kOwnPid).Point(hook, 1100 + 10 * i, {i});
  }
  trace.Abandon();
  return countrace::logformat::ReadDirectory(path);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  namespace logformat = countrace::logformat;
  static const TempDirectory folder(TempDirectory::Place::kMemory);
  static const DirectoryBytes recording = Recording(folder / "first");
  const std::string trace = folder / "trace";
  const std::string users = trace + "/" + logformat::UserFolderName(geteuid());
  std::filesystem::remove_all(trace);
  logformat::WriteDirectory(trace, recording);
  logformat::WriteDirectory(users, countrace::fuzz::FromImage({data, size}));
  const auto finished = logformat::FinishTrace(trace, {});
  Require(finished.ok());
  Require(!std::filesystem::exists(users));
  const auto verified = logformat::VerifyTrace(trace);
  Require(verified.ok() && verified->ok);
  const auto reader = logformat::TraceReader::Open(trace);
  Require(reader.ok());
  OwnRecords own;
  Require((*reader)->Read(own).ok());
  Require(own.count == kRecords);
  return 0;
}
