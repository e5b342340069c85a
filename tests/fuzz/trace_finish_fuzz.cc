// Recover of an arbitrary stream file: it succeeds, the result is sound, a
// second run changes nothing, and reading before and after gives the same
// records. First byte: bit 0 stream class, bit 1 processes may be alive.
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "logformat/description/metadata_writer.h"
#include "logformat/read/trace_reader.h"
#include "logformat/records.h"
#include "logformat/repair/trace_finish.h"
#include "logformat/repair/trace_verify.h"
#include "tests/fuzz/fuzz_session.h"
#include "tests/support/trace_builder.h"

namespace countrace::logformat {
namespace {

void Require(bool ok) {
  if (!ok) std::abort();
}

struct CountingSink final : ItemSink {
  void OnRecord(const EventRecord&) override { ++records; }
  void OnDiscardedEvents(const DiscardedEvents& loss) override {
    discarded += loss.count;
  }
  void OnDiscardedPackets(const DiscardedPackets& loss) override {
    packets += loss.packets;
  }
  std::uint64_t records = 0, discarded = 0, packets = 0;
};

CountingSink Count(const std::string& path) {
  auto reader = TraceReader::Open(path);
  Require(reader.ok());
  CountingSink sink;
  Require((*reader)->Read(sink).ok());
  return sink;
}

std::string Content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// One directory for the whole run.
const std::string& Directory() {
  static const test_support::TempDirectory directory(
      test_support::TempDirectory::Place::kMemory);
  static const bool described = [] {
    std::ofstream(directory / "metadata") << MetadataText(FuzzSession());
    return true;
  }();
  Require(described);
  return directory.path();
}

ino_t Inode(const std::string& path) {
  struct stat status = {};
  Require(stat(path.c_str(), &status) == 0);
  return status.st_ino;
}

void FinishAndCompare(const std::string& stream, bool thread, bool alive) {
  const std::string& path = Directory();
  const std::string file = path + (thread ? "/thread-1" : "/cpu-0");
  std::filesystem::remove(path + (thread ? "/cpu-0" : "/thread-1"));
  std::ofstream(file, std::ios::binary | std::ios::trunc) << stream;
  const ino_t inode = Inode(file);
  const CountingSink before = Count(path);
  FinishOptions options;
  options.processes_may_be_alive = alive;
  const auto result = FinishTrace(path, options);
  Require(result.ok() && result->records == before.records);
  const std::string once = Content(file);
  // A rewritten file is another file; a process that has the old one mapped
  // keeps it.
  if (alive && Inode(file) == inode) Require(once.size() >= stream.size());
  const CountingSink after = Count(path);
  Require(after.records == before.records);
  Require(after.discarded == before.discarded);
  Require(after.packets == before.packets);
  const auto verified = VerifyTrace(path);
  Require(verified.ok() && verified->ok);
  Require(FinishTrace(path, options)->already_finished);
  Require(Content(file) == once);
}

}  // namespace
}  // namespace countrace::logformat

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size == 0) return 0;
  const std::string stream(reinterpret_cast<const char*>(data) + 1, size - 1);
  countrace::logformat::FinishAndCompare(stream, (data[0] & 1) != 0,
                                         (data[0] & 2) != 0);
  return 0;
}
