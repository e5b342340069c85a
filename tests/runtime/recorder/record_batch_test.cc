// The room of a batch of records: what a late recorder needed once goes back.
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>

#include "runtime/recorder/kernel/ring/kernel_record.h"

namespace countrace::runtime {
namespace {

// As between two drains; `kept` records are behind the horizon.
void Drain(RecordBatch& batch, std::size_t records, std::size_t kept) {
  for (std::size_t i = 0; i < records; ++i) {
    *batch.Add(i, 1, 4) = i;
  }
  batch.Consume(batch.size() - kept);
}

TEST_CASE("record_batch: the room of a backlog goes back", "[recorder]") {
  constexpr std::size_t kBacklog = 200'000, kUsual = 1000;
  for (const std::size_t kept : {std::size_t{0}, std::size_t{10}}) {
    CAPTURE(kept);
    RecordBatch batch;
    Drain(batch, kBacklog, kept);
    CHECK(batch.room_bytes() > kBacklog * 32);
    for (std::size_t i = 0; i < 2 * RecordBatch::kRounds; ++i) {
      Drain(batch, kUsual, kept);
    }
    CHECK(batch.room_bytes() <= RecordBatch::kKeptBytes);
    CHECK(batch.size() == kept);
  }
}

TEST_CASE("record_batch: room that is in use stays", "[recorder]") {
  RecordBatch batch;
  constexpr std::size_t kRecords = 100'000;
  Drain(batch, kRecords, 0);
  const std::size_t room = batch.room_bytes();
  for (std::size_t i = 0; i < 3 * RecordBatch::kRounds; ++i) {
    Drain(batch, i % 100 == 0 ? kRecords : 10, 0);
    REQUIRE(batch.room_bytes() == room);
  }
}

}  // namespace
}  // namespace countrace::runtime
