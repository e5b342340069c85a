// A countrace trace read back through libbabeltrace2 is the same trace: each
// record, each loss, and so each report.
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "logformat/import/ctf/conversion.h"
#include "logformat/import/ctf/message_graph.h"
#include "logformat/import/mapping/mapping_file.h"
#include "logformat/import/trace_output.h"
#include "logformat/packet_layout.h"
#include "logformat/repair/trace_finish.h"
#include "rmap/pipeline.h"
#include "rmap/report/report_render.h"
#include "tests/logformat/trace_generator.h"
#include "tests/support/trace_builder.h"

namespace countrace::importer {
namespace {

using logformat::Collector;
using logformat::TraceReader;
using test_support::TempDirectory;
using test_support::TraceBuilder;

// Reads `from` through libbabeltrace2 and writes it to `to`.
absl::Status Convert(const std::string& from, const std::string& to) {
  std::filesystem::create_directory(to);
  const Mapping mapping;
  TraceOutput output({.directory = to});
  Conversion conversion(output, mapping, [](std::uint64_t, std::uint64_t) {});
  absl::Status status = ReadMessages({from}, conversion);
  if (status.ok()) status = conversion.Finish();
  if (status.ok()) status = output.Finish();
  return status;
}

// Where the packets of a finished stream begin, and where the last one ends.
std::vector<std::size_t> PacketBounds(const std::string& stream) {
  std::vector<std::size_t> bounds = {0};
  while (bounds.back() + sizeof(logformat::PacketHead) <= stream.size()) {
    logformat::PacketHead head;
    std::memcpy(&head, stream.data() + bounds.back(), sizeof(head));
    bounds.push_back(bounds.back() + head.packet_bits / 8);
  }
  return bounds;
}

std::string JsonReport(const std::string& path) {
  const auto reader = TraceReader::Open(path, /*shown_as=*/"trace");
  REQUIRE(reader.ok());
  const auto report = rmap::Reconstruct(**reader, {});
  REQUIRE(report.ok());
  const auto text =
      rmap::RenderReport(*report, {.format = rmap::ReportFormat::kJson});
  return absl::StatusOr<std::string>(text).value();
}

}  // namespace

TEST_CASE("own traces: through libbabeltrace2 they are the same",
          "[import][property]") {
  const auto seed = GENERATE(range(0u, 40u));
  CAPTURE(seed);
  const TempDirectory directory(TempDirectory::Place::kMemory);
  const std::string trace = directory / "trace";
  const std::string copy = directory / "copy";
  {
    TraceBuilder builder(trace);
    logformat::GeneratorOptions options;
    options.records = 600;
    options.losses = seed % 2 == 0;
    // 39 hours and more: times beyond what babeltrace2's clock can hold.
    options.long_pauses = seed % 4 == 3;
    Generate(builder, seed, options);
    builder.Finish();
  }
  const absl::Status status = Convert(trace, copy);
  INFO(status.message());
  REQUIRE(status.ok());

  std::unique_ptr<TraceReader> keep_trace, keep_copy;
  const Collector before = logformat::ReadAll(trace, keep_trace);
  const Collector after = logformat::ReadAll(copy, keep_copy);
  REQUIRE(before.records.size() == after.records.size());
  for (std::size_t i = 0; i < before.records.size(); ++i) {
    CAPTURE(i, before.records[i].stream, before.records[i].event_id);
    REQUIRE(before.records[i] == after.records[i]);
  }
  CHECK(before.discarded == after.discarded);
  REQUIRE(before.event_losses.size() == after.event_losses.size());
  for (std::size_t i = 0; i < before.event_losses.size(); ++i) {
    CHECK(before.event_losses[i].begin_ns == after.event_losses[i].begin_ns);
    CHECK(before.event_losses[i].end_ns == after.event_losses[i].end_ns);
    CHECK(before.event_losses[i].by_cause == after.event_losses[i].by_cause);
  }
  CHECK(before.lost_packets == after.lost_packets);
  CHECK(JsonReport(trace) == JsonReport(copy));
}

TEST_CASE("own traces: packets that are gone are lost on both ways",
          "[import]") {
  enum class Gone { kFirst, kInside, kLast, kFile };
  const auto gone =
      GENERATE(Gone::kFirst, Gone::kInside, Gone::kLast, Gone::kFile);
  CAPTURE(static_cast<int>(gone));
  const TempDirectory directory(TempDirectory::Place::kMemory);
  const std::string trace = directory / "trace";
  const std::string copy = directory / "copy";
  {
    TraceBuilder builder(trace);
    logformat::GeneratorOptions options;
    options.records = 3000;
    options.packet_bytes = 8192;
    options.losses = options.long_pauses = false;
    Generate(builder, /*seed=*/7, options);
    builder.Finish();
  }
  std::string largest;
  std::uintmax_t size = 0;
  for (const auto& file : std::filesystem::directory_iterator(trace)) {
    if (file.path().filename() == "metadata" || file.file_size() <= size) {
      continue;
    }
    size = file.file_size();
    largest = file.path();
  }
  if (gone == Gone::kFile) {
    std::filesystem::remove(largest);
  } else {
    std::ifstream in(largest, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), {});
    const std::vector<std::size_t> bounds = PacketBounds(bytes);
    REQUIRE(bounds.size() > 4);
    const std::size_t packet = gone == Gone::kFirst    ? 0
                               : gone == Gone::kInside ? 1
                                                       : bounds.size() - 2;
    bytes.erase(bounds[packet], bounds[packet + 1] - bounds[packet]);
    std::ofstream(largest, std::ios::binary | std::ios::trunc) << bytes;
  }
  const absl::Status status = Convert(trace, copy);
  INFO(status.message());
  REQUIRE(status.ok());

  std::unique_ptr<TraceReader> keep_trace, keep_copy;
  const Collector before = logformat::ReadAll(trace, keep_trace);
  const Collector after = logformat::ReadAll(copy, keep_copy);
  CHECK(before.records.size() == after.records.size());
  CHECK(before.lost_packets == (gone == Gone::kFile ? 0 : 1));
  CHECK(after.lost_packets == before.lost_packets);
  CHECK(keep_trace->messages() == keep_copy->messages());
  CHECK(keep_trace->messages().size() == (gone == Gone::kFile ? 1 : 0));
}

}  // namespace countrace::importer
