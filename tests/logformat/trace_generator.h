// Random traces with a known content, for the property tests of logformat.
#ifndef COUNTRACE_TESTS_LOGFORMAT_TRACE_GENERATOR_H_
#define COUNTRACE_TESTS_LOGFORMAT_TRACE_GENERATOR_H_

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "logformat/read/trace_reader.h"
#include "logformat/records.h"
#include "tests/support/trace_builder.h"

namespace countrace::logformat {

// A record as it was written, or as it was read.
struct PlainRecord {
  std::uint64_t time_ns;
  std::string stream;  // file
  std::uint16_t event_id;
  std::int32_t cpu, pid, tid;
  std::vector<std::byte> body;  // without the header word

  bool operator==(const PlainRecord&) const = default;
};

struct GeneratorOptions {
  int cpus = 2;
  int threads = 4;
  int records = 2000;  // in all streams
  std::size_t packet_bytes = 8192;
  bool losses = true;
  bool long_pauses = true;  // steps of more than 2^47 and 2^48 ns
};

struct GeneratedTrace {
  std::vector<PlainRecord> records;  // in the order they were written
  std::array<std::uint64_t, kDiscardCauses> discarded{};
};

// Fills `builder`, which has no streams yet. The same seed gives the same
// trace.
GeneratedTrace Generate(test_support::TraceBuilder& builder, std::uint32_t seed,
                        const GeneratorOptions& options);

// Collects the items that a reader delivers.
class Collector final : public ItemSink {
 public:
  explicit Collector(const TraceReader& reader) : reader_(reader) {}
  void OnRecord(const EventRecord& record) override;
  void OnDiscardedEvents(const DiscardedEvents& loss) override;
  void OnDiscardedPackets(const DiscardedPackets& loss) override;

  std::vector<PlainRecord> records;
  std::vector<std::uint32_t> streams;  // of each record
  std::array<std::uint64_t, kDiscardCauses> discarded{};
  std::vector<DiscardedEvents> event_losses;
  std::vector<DiscardedPackets> packet_losses;
  std::uint64_t lost_packets = 0;

 private:
  const TraceReader& reader_;
};

// Reads the whole trace; the test fails if it cannot be opened.
Collector ReadAll(const std::string& path,
                  std::unique_ptr<TraceReader>& keep_open);

}  // namespace countrace::logformat

#endif  // COUNTRACE_TESTS_LOGFORMAT_TRACE_GENERATOR_H_
