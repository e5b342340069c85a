// Numbers of threads of other pid namespaces, when a trace is finished.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <vector>

#include "logformat/repair/thread_ids.h"
#include "tests/support/trace_builder.h"

namespace countrace::logformat {
namespace {

constexpr std::uint32_t kSpace = 4026532000, kOther = 4026532001;

PacketHead Head(std::uint32_t pid_namespace, std::int32_t pid, std::int32_t tid,
                std::uint64_t begin_ns) {
  PacketHead head{};
  head.begin_ns = begin_ns;
  head.pid = pid;
  head.tid = tid;
  head.present = pid_namespace;
  head.flags = kPacketOtherNamespace | kPacketRecovered;
  head.packet_bits = 8 * 4096;
  return head;
}

void Write(const std::string& directory,
           const std::vector<ThreadIdsEntry>& entries, std::size_t torn = 0) {
  std::ofstream file(directory + "/" + kThreadIdsFile, std::ios::binary);
  file.write(reinterpret_cast<const char*>(entries.data()),
             static_cast<std::streamsize>(
                 entries.size() * sizeof(ThreadIdsEntry) - torn));
}

TEST_CASE("thread_ids: a packet gets the recorder's numbers", "[logformat]") {
  const test_support::TempDirectory directory;
  // The container's process 1 ended, and another one has its number and the
  // namespace's inode. Entries of two CPUs are not in order.
  Write(directory.path(), {{2000, kSpace, 1, 1, 900, 900, 0},
                           {1000, kSpace, 1, 1, 500, 500, 0},
                           {1100, kSpace, 1, 7, 500, 507, 0},
                           {1000, kOther, 1, 1, 600, 600, 0}});
  ThreadIds ids(directory.path());
  const auto numbers = [&](PacketHead head) {
    ids.Translate(head);
    CHECK(head.flags == kPacketRecovered);
    CHECK(head.present == 0);
    return std::pair(head.pid, head.tid);
  };
  using Numbers = std::pair<std::int32_t, std::int32_t>;
  CHECK(numbers(Head(kSpace, 1, 1, 1500)) == Numbers(500, 500));
  CHECK(numbers(Head(kSpace, 1, 7, 1500)) == Numbers(500, 507));
  CHECK(numbers(Head(kSpace, 1, 1, 2000)) == Numbers(900, 900));
  CHECK(numbers(Head(kOther, 1, 1, 1500)) == Numbers(600, 600));
  // Its clock was read before that of its fork record.
  CHECK(numbers(Head(kOther, 1, 1, 999)) == Numbers(600, 600));
  CHECK(ids.unknown() == 0);
}

TEST_CASE("thread_ids: a thread without an entry has a number of its own",
          "[logformat]") {
  const test_support::TempDirectory directory;
  ThreadIds ids(directory.path());
  PacketHead a = Head(kSpace, 1, 1, 10), b = Head(kOther, 1, 1, 10);
  PacketHead c = Head(kSpace, 1, 2, 10), again = Head(kSpace, 1, 1, 99);
  for (PacketHead* head : {&a, &b, &c, &again}) ids.Translate(*head);
  CHECK(a.pid == a.tid);
  CHECK(a.pid >= ThreadIds::kUnknownIds);
  CHECK(b.pid != a.pid);
  CHECK(c.pid == a.pid);
  CHECK(c.tid != a.tid);
  CHECK(again.tid == a.tid);
  CHECK(ids.unknown() == 3);
  PacketHead own{};
  own.pid = own.tid = 5;
  ids.Translate(own);
  CHECK(own.tid == 5);
}

TEST_CASE("thread_ids: all packets of a stream, and a torn entry at the end",
          "[logformat]") {
  const test_support::TempDirectory directory;
  Write(directory.path(),
        {{1, kSpace, 1, 1, 40, 41, 0}, {2, kSpace, 1, 1, 50, 51, 0}}, 1);
  const std::string path = directory.path() + "/thread-1-0";
  const PacketHead heads[2] = {Head(kSpace, 1, 1, 5), Head(kSpace, 1, 1, 6)};
  {
    std::ofstream file(path, std::ios::binary);
    for (const PacketHead& head : heads) {
      std::vector<char> bytes(4096);
      std::memcpy(bytes.data(), &head, sizeof(head));
      file.write(bytes.data(), 4096);
    }
  }
  ThreadIds ids(directory.path());
  for (int time = 0; time < 2; ++time) {
    REQUIRE(ids.TranslateStream(path).ok());
    std::ifstream file(path, std::ios::binary);
    for (int i = 0; i < 2; ++i) {
      PacketHead head{};
      file.seekg(4096 * i);
      file.read(reinterpret_cast<char*>(&head), sizeof(head));
      CHECK(head.pid == 40);
      CHECK(head.tid == 41);
      CHECK(head.begin_ns == heads[i].begin_ns);
      CHECK(head.flags == kPacketRecovered);
    }
  }
  CHECK(ids.TranslateStream(directory.path() + "/none").code() ==
        absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace countrace::logformat
