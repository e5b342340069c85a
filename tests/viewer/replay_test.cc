// The replay in the terminal, without a terminal: the playhead, fixed places,
// lines of exact width, keys, and whole screens over random traces.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/text/name_escape.h"
#include "tests/viewer/index_fixture.h"
#include "viewer/replay/cast_file.h"
#include "viewer/replay/fixed_places.h"
#include "viewer/replay/player.h"
#include "viewer/replay/playhead.h"
#include "viewer/replay/screen_changes.h"
#include "viewer/replay/screen_line.h"

namespace countrace::viewer {
namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;

TEST_CASE("replay: the playhead goes as far back as it went forth",
          "[viewer][property]") {
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const std::uint64_t from_ns = random() % 1000;
    const std::uint64_t to_ns = from_ns + 1 + random() % (10 * kSecondNs);
    Playhead playhead(from_ns, to_ns, 1 + random() % (20 * kSecondNs));
    const std::uint64_t begin_ns = from_ns + random() % (to_ns - from_ns);
    playhead.MoveTo(begin_ns);
    playhead.Play(true);
    std::vector<std::uint64_t> frames;
    std::uint64_t shown_ns = 0;
    for (std::size_t i = 0; i < 30; ++i) {
      frames.push_back(random() % (kSecondNs / 10));
      playhead.Advance(frames.back());
      shown_ns += frames.back();
      CHECK(playhead.time_ns() >= begin_ns);
      CHECK(playhead.time_ns() <= to_ns);
    }
    if (playhead.playing()) {
      const double way = static_cast<double>(playhead.per_second_ns()) *
                         static_cast<double>(shown_ns) / 1e9;
      CHECK(static_cast<double>(playhead.time_ns() - begin_ns) ==
            Approx(way).margin(1));
      playhead.Play(false);
      for (const std::uint64_t frame_ns : frames) playhead.Advance(frame_ns);
      // Less than 1 ns is kept from frame to frame each way.
      CHECK(static_cast<double>(playhead.time_ns()) ==
            Approx(static_cast<double>(begin_ns)).margin(1));
    } else {
      CHECK(playhead.time_ns() == to_ns);
    }
  }
}

TEST_CASE("replay: the playhead stops at the end, or begins anew", "[viewer]") {
  Playhead playhead(100, 200, 10);
  playhead.Play(true);
  playhead.Advance(60 * kSecondNs);
  CHECK(playhead.time_ns() == 200);
  CHECK_FALSE(playhead.playing());
  playhead.Play(true);  // from the begin
  CHECK(playhead.time_ns() == 100);
  playhead.Play(false);
  CHECK(playhead.time_ns() == 200);
  playhead.set_loop(true);
  playhead.Advance(60 * kSecondNs);
  CHECK(playhead.time_ns() == 100);
  playhead.Advance(kSecondNs);
  CHECK(playhead.time_ns() == 200);
  CHECK(playhead.playing());
  playhead.Advance(kSecondNs);
  CHECK(playhead.time_ns() == 190);
  // An instant only: no loop without end.
  Playhead instant(5, 5, 0);
  instant.set_loop(true);
  instant.Play(true);
  instant.Advance(kSecondNs);
  CHECK(instant.time_ns() == 5);
}

TEST_CASE("replay: speeds are 1, 2, 5, 10, ... and the text says them",
          "[viewer]") {
  Playhead playhead(0, 100, 3);
  std::vector<std::uint64_t> speeds;
  for (int i = 0; i < 5; ++i) {
    playhead.Faster();
    speeds.push_back(playhead.per_second_ns());
  }
  CHECK(speeds == std::vector<std::uint64_t>{5, 10, 20, 50, 100});
  speeds.clear();
  for (int i = 0; i < 8; ++i) {
    playhead.Slower();
    speeds.push_back(playhead.per_second_ns());
  }
  CHECK(speeds == std::vector<std::uint64_t>{50, 20, 10, 5, 2, 1, 1, 1});
  playhead.Play(true);
  playhead.Play(true);  // again: faster
  CHECK(playhead.per_second_ns() == 2);
  CHECK(Playhead(0, 200 * kSecondNs, 0).per_second_ns() == 10 * kSecondNs);
  CHECK(Playhead(0, 0, 0).per_second_ns() == 1);

  CHECK(SpeedText(10'000'000) == "1 s shown = 10.0 ms (100 x slow)");
  CHECK(SpeedText(kSecondNs) == "1 s shown = 1.00 s (real time)");
  CHECK(SpeedText(2 * kSecondNs) == "1 s shown = 2.00 s (2 x fast)");
  CHECK(SpeedText(500'000'000) == "1 s shown = 500 ms (2 x slow)");
}

TEST_CASE("replay: who has a place keeps it", "[viewer][property]") {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    FixedPlaces places;
    std::map<std::uint32_t, std::size_t> before;
    for (int step = 0; step < 50; ++step) {
      std::vector<std::uint32_t> ranked(20);
      for (std::uint32_t i = 0; i < ranked.size(); ++i) ranked[i] = i;
      std::shuffle(ranked.begin(), ranked.end(), random);
      ranked.resize(random() % 20);
      constexpr std::size_t kPlaces = 6;
      places.Update(ranked, kPlaces);
      REQUIRE(places.places().size() == kPlaces);
      std::map<std::uint32_t, std::size_t> now;
      for (std::size_t i = 0; i < kPlaces; ++i) {
        if (!places.places()[i]) continue;
        CHECK(now.emplace(*places.places()[i], i).second);  // once
      }
      for (std::size_t i = 0; i < std::min(kPlaces, ranked.size()); ++i) {
        REQUIRE(now.contains(ranked[i]));
        if (const auto had = before.find(ranked[i]); had != before.end()) {
          CHECK(now[ranked[i]] == had->second);
        }
      }
      before = now;
    }
  }
}

TEST_CASE("replay: a line has its width, whatever is in it",
          "[viewer][property]") {
  CHECK(Shortened("server:handle", 13, false) == "server:handle");
  CHECK(Shortened("server:handle", 10, false) == "server:h..");
  CHECK(Shortened("server:handle", 10, true) == "..r:handle");
  CHECK(Shortened("server", 2, false) == "..");
  const std::string names[] = {"",
                               "a",
                               "caf\xc3\xa9 \xe2\x82\xac",
                               "\xff\x1b[2J",
                               "a long name of a program",
                               "\xf0\x9f\x98\x80"};
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const std::size_t columns = 1 + random() % 60;
    ScreenLine line(columns);
    for (std::uint32_t i = random() % 8; i != 0; --i) {
      const std::string text =
          base::EscapeName(names[random() % std::size(names)]);
      if (random() % 2 == 0) {
        line.Number(text, random() % 20, Style::kBold);
      } else {
        line.Field(text, random() % 20, Style::kDim, random() % 9,
                   random() % 2 == 0);
      }
    }
    CHECK(base::DisplayColumns(ScreenLine(line).Text(false)) == columns);
    // Colours take no place, and end.
    std::string colored = line.Text(true);
    for (std::size_t at = 0;
         (at = colored.find('\x1b', at)) != std::string::npos;) {
      colored.erase(at, colored.find('m', at) - at + 1);
    }
    CHECK(base::DisplayColumns(colored) == columns);
  }
}

TEST_CASE("replay: keys", "[viewer]") {
  std::size_t used = 0;
  const auto command = [&used](std::string_view input) {
    return CommandOf(input, used);
  };
  CHECK(command("jl") == ReplayCommand::kPlayBack);
  CHECK(used == 1);
  CHECK(command("L") == ReplayCommand::kPlay);
  CHECK(command("\x1b[Cq") == ReplayCommand::kNext);
  CHECK(used == 3);
  CHECK(command("\x1b[") == ReplayCommand::kNone);
  CHECK(used == 0);  // it may be the begin of a key
  CHECK(command("\x1b[Z") == ReplayCommand::kNone);
  CHECK(used == 1);
  CHECK(command("\xff") == ReplayCommand::kNone);
  CHECK(used == 1);
  CHECK(command("\x03") == ReplayCommand::kQuit);
}

TEST_CASE("replay: only lines that changed are sent", "[viewer]") {
  ScreenChanges changes;
  CHECK(changes.To({"a", "b"}) ==
        "\x1b[0m\x1b[2J\x1b[1;1Ha\x1b[K\x1b[2;1Hb\x1b[K");
  CHECK(changes.To({"a", "b"}).empty());
  CHECK(changes.To({"a", "c"}) == "\x1b[2;1Hc\x1b[K");
  changes.Forget();
  CHECK(changes.To({"a", "c"}).starts_with("\x1b[0m\x1b[2J"));
}

TEST_CASE("replay: a cast is asciicast v2", "[viewer]") {
  CHECK(CastHeader({.columns = 90, .lines = 30}, "web.ctf") ==
        R"({"env":{"TERM":"xterm-256color"},"height":30,"title":"web.ctf",)"
        R"("version":2,"width":90})"
        "\n");
  CHECK(CastOutput(1'033'333'333, "\x1b[2J\"\xff") ==
        "[1.033333, \"o\", \"\\u001b[2J\\\"\xef\xbf\xbd\"]\n");
}

TEST_CASE("replay: every screen has its size, and places stay",
          "[viewer][property]") {
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const BuiltIndex built = BuildSyntheticIndex({.seed = seed,
                                                  .cpus = 1 + seed % 9,
                                                  .processes = 1 + seed % 12,
                                                  .dispatches = 500,
                                                  .losses = seed % 2 == 0});
    const TimelineIndex& index = *built.index;
    Player player(index, Playhead(0, index.duration_ns(), 0), "a.ctf");
    const StageSize size = {80 + random() % 60, 24 + random() % 40};
    player.Do(ReplayCommand::kPlay);
    for (int frame = 0; frame < 60; ++frame) {
      const auto lines = player.Lines(size, false);
      REQUIRE(lines.size() == size.lines);
      for (const std::string& line : lines) {
        CHECK(base::DisplayColumns(line) == size.columns);
      }
      // The CPUs are where they were, by number.
      CHECK(lines[2].starts_with(" CPU"));
      CHECK(lines[3].starts_with("   0  "));
      const auto command = static_cast<ReplayCommand>(
          random() % static_cast<std::uint32_t>(ReplayCommand::kQuit));
      if (random() % 4 == 0) player.Do(command);
      player.Advance(random() % (kSecondNs / 5));
      CHECK(player.playhead().time_ns() <= index.duration_ns());
    }
    // The same instant is the same screen, whatever was shown before.
    player.Do(ReplayCommand::kPause);
    player.Do(ReplayCommand::kBegin);
    const auto first = player.Lines(size, false);
    player.Do(ReplayCommand::kNext);
    player.Do(ReplayCommand::kPrevious);
    player.Do(ReplayCommand::kBegin);
    const auto again = player.Lines(size, false);
    CHECK(std::vector(again.begin(), again.begin() + 4) ==
          std::vector(first.begin(), first.begin() + 4));
  }
}

TEST_CASE("replay: idle time is skipped, both ways", "[viewer]") {
  const BuiltIndex built =
      BuildSyntheticIndex({.seed = 3, .cpus = 1, .losses = false});
  const TimelineIndex& index = *built.index;
  const auto idle_frames = [&](bool skip, bool forward) {
    // Slower than the machine changes: each idle time has many frames.
    Player player(index, Playhead(0, index.duration_ns(), 10'000), "a.ctf");
    player.set_skip_idle(skip);
    if (!forward) player.Do(ReplayCommand::kEnd);
    player.Do(forward ? ReplayCommand::kPlay : ReplayCommand::kPlayBack);
    int idle = 0;
    for (int i = 0; i < 3000 && player.playhead().playing(); ++i) {
      player.Advance(kSecondNs / 10);
      idle += IsIdle(StateAt(index, player.playhead().time_ns()));
    }
    return idle;
  };
  for (const bool forward : {true, false}) {
    CAPTURE(forward);
    CHECK(idle_frames(false, forward) > 50);
    CHECK(idle_frames(true, forward) <= 1);  // at the end of the trace
  }
}

}  // namespace
}  // namespace countrace::viewer
