// The file that lets a page find the next server of its trace: only what this
// user alone could have written counts.
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/viewer/index_fixture.h"
#include "viewer/server/http/kept_address.h"

namespace countrace::viewer {
namespace {

constexpr char kToken[] = "0123456789abcdef0123456789abcdef";

void Write(const std::string& path, const std::string& text, mode_t mode) {
  std::ofstream(path) << text;
  REQUIRE(::chmod(path.c_str(), mode) == 0);
}

}  // namespace

TEST_CASE("kept_address: what was kept is read, by its user alone",
          "[viewer][http]") {
  const TemporaryDirectory directory;
  REQUIRE(::setenv("XDG_RUNTIME_DIR", directory.path().c_str(), 1) == 0);
  const std::array<std::uint8_t, 16> uuid{0xab, 1};
  const std::string path = KeptAddressPath(uuid);
  CHECK(path ==
        directory.path() + "/countrace-view-ab010000000000000000000000000000");
  CHECK_FALSE(ReadKeptAddress(path));
  KeepAddress(path, {8080, kToken});
  KeepAddress(path, {8081, kToken});
  const auto kept = ReadKeptAddress(path);
  REQUIRE(kept);
  CHECK(kept->port == 8081);
  CHECK(kept->token == kToken);
  struct stat status;
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
}

TEST_CASE("kept_address: what another could have written is not read",
          "[viewer][http]") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/kept";
  const std::string good = std::string("8080 ") + kToken;
  Write(path, good, 0600);
  CHECK(ReadKeptAddress(path));
  for (const mode_t mode : {0644u, 0660u, 0602u}) {
    Write(path, good, mode);
    CHECK_FALSE(ReadKeptAddress(path));
  }
  for (const std::string& text :
       {std::string(), std::string("8080"), std::string("8080 "),
        std::string("0 ") + kToken, std::string("70000 ") + kToken,
        std::string("-1 ") + kToken, good + "\n", good + "0",
        std::string("8080 0123456789ABCDEF0123456789abcdef"),
        std::string(1 << 16, 'a')}) {
    CAPTURE(text.substr(0, 80));
    Write(path, text, 0600);
    CHECK_FALSE(ReadKeptAddress(path));
  }
  Write(path, good, 0600);
  const std::string link = directory.path() + "/link";
  REQUIRE(::symlink(path.c_str(), link.c_str()) == 0);
  CHECK_FALSE(ReadKeptAddress(link));
  CHECK_FALSE(ReadKeptAddress(directory.path()));
  CHECK_FALSE(ReadKeptAddress(""));
}

TEST_CASE("kept_address: without a runtime directory it is in the cache",
          "[viewer][http]") {
  const TemporaryDirectory directory;
  const std::array<std::uint8_t, 16> uuid{};
  const std::string name =
      "/countrace/countrace-view-00000000000000000000000000000000";
  REQUIRE(::setenv("XDG_CACHE_HOME", directory.path().c_str(), 1) == 0);
  for (const char* place : {"", "relative"}) {
    REQUIRE(::setenv("XDG_RUNTIME_DIR", place, 1) == 0);
    CHECK(KeptAddressPath(uuid) == directory.path() + name);
  }
  REQUIRE(::unsetenv("XDG_RUNTIME_DIR") == 0);
  KeepAddress(KeptAddressPath(uuid), {8080, kToken});
  const auto kept = ReadKeptAddress(directory.path() + name);
  REQUIRE(kept);
  CHECK(kept->port == 8080);
}

TEST_CASE("kept_address: with no directory at all nothing is kept",
          "[viewer][http]") {
  const std::array<std::uint8_t, 16> uuid{};
  for (const char* variable : {"XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "HOME"}) {
    REQUIRE(::unsetenv(variable) == 0);
  }
  CHECK(KeptAddressPath(uuid).empty());
  KeepAddress("", {1, kToken});
  KeepAddress("/proc/nonexistent/place", {1, kToken});
}

}  // namespace countrace::viewer
