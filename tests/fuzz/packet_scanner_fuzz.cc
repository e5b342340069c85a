// A stream file of arbitrary bytes: the first byte selects the stream class,
// the rest is the file. Scanned with and without walking closed packets, then
// read.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/posix/file_mapping.h"
#include "logformat/event_schema.h"
#include "logformat/read/packet_scanner.h"
#include "logformat/read/record_table.h"
#include "logformat/read/script_render.h"
#include "logformat/read/stream_cursor.h"
#include "tests/fuzz/fuzz_session.h"
#include "tests/support/trace_builder.h"

namespace countrace::logformat {
namespace {

void Require(bool ok) {
  if (!ok) std::abort();
}

class CheckingSink final : public ItemSink {
 public:
  explicit CheckingSink(const ScriptRenderer& renderer) : renderer_(renderer) {}
  void OnRecord(const EventRecord& record) override {
    Require(record.time_ns >= last_ns_);
    last_ns_ = record.time_ns;
    ++records;
    line_.clear();
    renderer_.AppendRecord(record, line_);
  }
  void OnDiscardedEvents(const DiscardedEvents& loss) override {
    Require(loss.begin_ns <= loss.end_ns);
  }
  void OnDiscardedPackets(const DiscardedPackets& loss) override {
    Require(loss.begin_ns <= loss.end_ns && !loss.reason.empty());
    ++losses;
  }
  std::uint64_t records = 0, losses = 0;

 private:
  const ScriptRenderer& renderer_;
  std::uint64_t last_ns_ = 0;
  std::string line_;
};

void ScanAndRead(std::string_view bytes, StreamClass stream_class) {
  static const test_support::TempDirectory directory(
      test_support::TempDirectory::Place::kMemory);
  const std::string path = directory / "stream";
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  static const TraceDescription session = FuzzSession();
  static const std::vector<EventClass> classes = EventClasses(session.info);
  static const RecordTable tables[2] = {
      RecordTable(classes, StreamClass::kCpu),
      RecordTable(classes, StreamClass::kThread)};
  static const ScriptRenderer renderer(session.info);
  const RecordTable& table = tables[static_cast<std::size_t>(stream_class)];
  std::uint64_t counts[2] = {};
  for (const bool walk : {false, true}) {
    OpenStream stream;
    auto mapping = base::FileMapping::Open(path);
    Require(mapping.ok());
    stream.mapping = *std::move(mapping);
    const std::span<const std::byte> file = stream.mapping.bytes();
    stream.table = &table;
    stream.thread_counters = session.info.thread_events.size();
    stream.info.file = "fuzz";
    stream.info.stream_class = stream_class;
    ScanOptions options;
    options.stream_class = stream_class;
    options.walk_closed = walk;
    stream.scan = ScanStream(file, table, options);
    // The result of finishing is in order.
    std::uint64_t end_ns = 0, sequence = 0;
    for (const ScannedPacket& packet : stream.scan.packets) {
      const PacketHead& head = packet.head;
      Require(head.content_bits <= head.packet_bits);
      Require(head.sequence >= sequence && head.begin_ns >= end_ns);
      sequence = head.sequence + 1;
      if (walk) {
        Require(head.end_ns >= head.begin_ns);
        end_ns = head.end_ns;
      }
    }
    CheckingSink sink(renderer);
    ReadState state;
    state.sink = &sink;
    StreamCursor cursor(stream, 0, state);
    cursor.Deliver(StreamCursor::kEnd);
    Require(cursor.next_ns() == StreamCursor::kEnd);
    if (walk) Require(sink.records == stream.scan.records);
    counts[walk ? 1 : 0] = sink.records;
  }
  Require(counts[0] == counts[1]);
}

}  // namespace
}  // namespace countrace::logformat

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace countrace::logformat;
  if (size == 0) return 0;
  ScanAndRead({reinterpret_cast<const char*>(data) + 1, size - 1},
              (data[0] & 1) != 0 ? StreamClass::kThread : StreamClass::kCpu);
  return 0;
}
