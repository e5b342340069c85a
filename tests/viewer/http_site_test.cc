// The site over real sockets: which clients are admitted, which requests are
// rejected, and that nothing a client sends reaches the file system.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "tests/viewer/http_client.h"
#include "tests/viewer/index_fixture.h"
#include "viewer/index/instant/tile.h"
#include "viewer/server/api/index_api.h"
#include "viewer/server/api/timeline_api.h"
#include "viewer/server/http/http_server.h"
#include "viewer/server/http/request_guard.h"
#include "viewer/server/serve/viewer_site.h"
#include "viewer/server/tables/trace_report.h"

namespace countrace::viewer {

using Json = nlohmann::json;
namespace {

using Answer = HttpAnswer;

// `index` must outlive it.
std::shared_ptr<const TimelineIndex> Shared(const TimelineIndex& index) {
  return {std::shared_ptr<void>(), &index};
}

class RunningSite {
 public:
  RunningSite() : built_(BuildSyntheticIndex({.dispatches = 500})) {
    auto server = HttpServer::Listen(0, {.header_bytes = 4096,
                                         .body_bytes = 65536,
                                         .timeout_seconds = 5,
                                         .connections = 8,
                                         .threads = 2});
    REQUIRE(server.ok());
    server_ = *std::move(server);
    auto guard = RequestGuard::Create(server_->port());
    REQUIRE(guard.ok());
    indexes_.Publish(Shared(*built_.index));
    site_ = std::make_unique<ViewerSite>(indexes_, nullptr, *std::move(guard));
    thread_ = std::thread([this] {
      server_->Run([this](const HttpRequest& r) { return site_->Answer(r); },
                   /*stop_on_signals=*/false);
    });
  }
  ~RunningSite() {
    server_->Stop();
    thread_.join();
  }

  std::string host() const {
    return "127.0.0.1:" + std::to_string(server_->port());
  }
  const std::string& token() const { return site_->guard().token(); }
  std::string bearer() const {
    return "Authorization: Bearer " + token() + "\r\n";
  }
  const TimelineIndex& index() const { return *built_.index; }
  const rmap::Report& report() const { return built_.trace.report; }

  Answer Send(const std::string& bytes) const {
    return Exchange(server_->port(), bytes);
  }

  Answer Get(const std::string& target, const std::string& headers) const {
    return Send("GET " + target + " HTTP/1.1\r\nHost: " + host() + "\r\n" +
                headers + "Connection: close\r\n\r\n");
  }
  Answer GetAllowed(const std::string& target) const {
    return Get(target, bearer());
  }
  Answer PostTiles(const std::string& body, const std::string& headers) const {
    return Post("tiles", body, headers);
  }
  Answer Post(const std::string& name, const std::string& body,
              const std::string& headers) const {
    return Send("POST /api/v1/" + name + " HTTP/1.1\r\nHost: " + host() +
                "\r\n" + bearer() + headers +
                "Content-Length: " + std::to_string(body.size()) +
                "\r\nConnection: close\r\n\r\n" + body);
  }

 private:
  BuiltIndex built_;
  ServedIndexes indexes_;
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<ViewerSite> site_;
  std::thread thread_;
};

constexpr char kJsonType[] = "Content-Type: application/json\r\n";

}  // namespace

TEST_CASE("site: only the right token gets in", "[viewer][http]") {
  const RunningSite site;
  CHECK(site.Get("/", "").status == 401);
  CHECK(site.Get("/api/v1/trace", "").status == 401);
  CHECK(site.Get("/api/v1/trace", "Authorization: Bearer 00\r\n").status ==
        401);
  std::string wrong = site.token();
  wrong[5] = wrong[5] == '0' ? '1' : '0';
  CHECK(site.Get("/?token=" + wrong, "").status == 401);
  // A token in the query opens the page, not the API.
  CHECK(site.Get("/api/v1/trace?token=" + site.token(), "").status == 401);
  CHECK(site.GetAllowed("/api/v1/trace").status == 200);

  const Answer opened = site.Get("/?token=" + site.token(), "");
  CHECK(opened.status == 303);
  CHECK(opened.head.find("Location: /\r\n") != std::string::npos);
  const std::string name = "countrace_" + site.host().substr(10);
  CHECK(opened.head.find("Set-Cookie: " + name + "=" + site.token() +
                         "; Path=/; HttpOnly; SameSite=Strict") !=
        std::string::npos);
  // From a file there is no redirect: the page comes at once, with its cookie.
  const Answer from_file =
      site.Get("/?token=" + site.token(), "Sec-Fetch-Site: cross-site\r\n");
  CHECK(from_file.status == 200);
  CHECK(from_file.head.find("Set-Cookie: " + name) != std::string::npos);
  CHECK(site.Get("/?token=" + wrong, "Sec-Fetch-Site: cross-site\r\n").status ==
        403);
  CHECK(site.Get("/", "Cookie: a=b; " + name + "=" + site.token() + "\r\n")
            .status == 200);
  CHECK(
      site.Get("/", "Cookie: " + name + "=x" + site.token() + "\r\n").status ==
      401);
}

TEST_CASE("site: a foreign Host or Origin is refused even with the token",
          "[viewer][http]") {
  const RunningSite site;
  const auto with_host = [&](const std::string& host) {
    return site
        .Send("GET /api/v1/trace HTTP/1.1\r\nHost: " + host + "\r\n" +
              site.bearer() + "Connection: close\r\n\r\n")
        .status;
  };
  const std::string port = site.host().substr(10);
  CHECK(with_host(site.host()) == 200);
  CHECK(with_host("localhost:" + port) == 200);
  CHECK(with_host("rebound.example:" + port) == 403);
  CHECK(with_host("127.0.0.1") == 403);
  CHECK(with_host("127.0.0.1:1") == 403);
  CHECK(with_host("") == 403);
  const auto with_origin = [&](const std::string& origin) {
    return site
        .Get("/api/v1/trace", site.bearer() + "Origin: " + origin + "\r\n")
        .status;
  };
  CHECK(with_origin("http://" + site.host()) == 200);
  CHECK(with_origin("https://" + site.host()) == 403);
  CHECK(with_origin("http://evil.example") == 403);
  CHECK(with_origin("null") == 403);
  CHECK(site.Get("/api/v1/trace",
                 site.bearer() + "Sec-Fetch-Site: cross-site\r\n")
            .status == 403);
  // Two Hosts, or none.
  CHECK(site.Send("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: "
                  "close\r\n\r\n")
            .status == 400);
  CHECK(site.Send("GET / HTTP/1.1\r\nConnection: close\r\n\r\n").status == 400);
}

TEST_CASE("site: every answer forbids what the page does not need",
          "[viewer][http]") {
  const RunningSite site;
  for (const Answer& answer :
       {site.GetAllowed("/"), site.GetAllowed("/api/v1/trace"),
        site.Get("/", ""), site.GetAllowed("/nothing")}) {
    CHECK(answer.head.find("Content-Security-Policy: default-src 'self';") !=
          std::string::npos);
    CHECK(answer.head.find("X-Content-Type-Options: nosniff") !=
          std::string::npos);
    CHECK(answer.head.find("Access-Control") == std::string::npos);
  }
}

TEST_CASE("site: no path leads out of the embedded files", "[viewer][http]") {
  const RunningSite site;
  CHECK(site.GetAllowed("/").body.find("<!doctype html>") == 0);
  CHECK(site.GetAllowed("/app.js").status == 200);
  for (const char* path :
       {"/../../../../etc/passwd", "/..%2f..%2fetc/passwd", "//etc/passwd",
        "/app.js/../index.html", "/%2e%2e/etc/passwd", "/index.html/",
        "/api/v1/../trace", "/api/", "/dist/app.js"}) {
    CAPTURE(path);
    CHECK(site.GetAllowed(path).status == 404);
  }
}

TEST_CASE("site: what is not a request is refused and the server lives on",
          "[viewer][http]") {
  const RunningSite site;
  CHECK(site.Get("/", "X-Long: " + std::string(8000, 'a') + "\r\n").status ==
        431);
  CHECK(site.Get("/" + std::string(8000, 'a'), "").status == 431);
  CHECK(site.Send("\x16\x03\x01\x02 TLS\r\n\r\n").status == 400);
  CHECK(site.Send("GET / HTTP/9.9\r\n\r\n").status == 400);
  CHECK(site.PostTiles(std::string(100'000, ' '), kJsonType).status == 413);
  CHECK(site.Send("DELETE /api/v1/trace HTTP/1.1\r\nHost: " + site.host() +
                  "\r\n" + site.bearer() + "Connection: close\r\n\r\n")
            .status == 405);
  CHECK(site.GetAllowed("/api/v1/tiles").status == 405);
  CHECK(site.GetAllowed("/api/v1/trace").status == 200);
}

TEST_CASE("api: frames are the state and the sums of each instant",
          "[viewer][http]") {
  const RunningSite site;
  const std::uint64_t end_ns = site.index().duration_ns();
  std::vector<std::uint64_t> times = {0, end_ns, end_ns / 3, end_ns + 5};
  for (std::uint64_t i = 1; i < 20; ++i) times.push_back(end_ns * i / 20);
  const std::uint64_t since_ns = end_ns / 3, window_ns = end_ns / 7;
  const Json request = {{"times", times},    {"threads", 3},
                        {"processes", 2},    {"recent_processes", 3},
                        {"since", since_ns}, {"window", window_ns}};
  const Answer answer = site.Post("frames", request.dump(), kJsonType);
  REQUIRE(answer.status == 200);
  const Json frames = Json::parse(answer.body)["frames"];
  REQUIRE(frames.size() == times.size());
  std::size_t shown = 0, left_out = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const std::string time = std::to_string(times[i]);
    CAPTURE(time);
    const Json state = Json::parse(
        site.GetAllowed("/api/v1/state?t=" + time +
                        "&top=3&window=" + std::to_string(window_ns))
            .body);
    CHECK(frames[i]["state"] == state);
    const auto processes = [&](std::uint64_t from_ns, std::uint64_t to_ns,
                               const char* top) {
      return Json::parse(
          site.GetAllowed("/api/v1/aggregate?from=" + std::to_string(from_ns) +
                          "&to=" + std::to_string(to_ns) +
                          "&tables=processes&top=" + top)
              .body);
    };
    CHECK(frames[i]["so_far"] == processes(std::min(since_ns, times[i]),
                                           std::max(since_ns, times[i]), "2"));
    CHECK(frames[i]["recent"] ==
          processes(times[i] - std::min(times[i], window_ns), times[i], "3"));
    // The same threads as in the whole answer: none is lost without a word.
    const Json whole =
        Json::parse(site.GetAllowed("/api/v1/state?t=" + time +
                                    "&window=" + std::to_string(window_ns))
                        .body);
    CHECK(state["threads"].size() <= 3);
    CHECK(state["threads"].size() +
              state["threads_left_out"].get<std::size_t>() ==
          whole["threads"].size());
    const auto running = [](const Json& thread) {
      return thread["state"] == "running";
    };
    CHECK(std::count_if(state["threads"].begin(), state["threads"].end(),
                        running) ==
          std::min<std::ptrdiff_t>(
              3, std::count_if(whole["threads"].begin(), whole["threads"].end(),
                               running)));
    for (const Json& thread : state["threads"]) {
      CHECK(std::count(whole["threads"].begin(), whole["threads"].end(),
                       thread) == 1);
    }
    shown += state["threads"].size();
    left_out += state["threads_left_out"].get<std::size_t>();
  }
  CHECK(shown > 0);
  CHECK(left_out > 0);
}

TEST_CASE("api: wrong frames are refused", "[viewer][http]") {
  const RunningSite site;
  const auto status = [&site](const std::string& body) {
    return site.Post("frames", body, kJsonType).status;
  };
  CHECK(site.GetAllowed("/api/v1/frames").status == 405);
  CHECK(site.Post("frames", R"({"times":[1]})", "").status == 415);
  CHECK(status(R"({"times":[]})") == 200);
  for (const char* body :
       {"", "[]", "{}", R"({"times":1})", R"({"times":[-1]})",
        R"({"times":[1.5]})", R"({"times":["1"]})", R"({"times":[null]})",
        R"({"times":[1],"threads":-1})", R"({"times":[1],"threads":1001})",
        R"({"times":[1],"processes":"8"})", R"({"times":[1],"since":-1})",
        R"({"times":[1],"window":1.5})",
        R"({"times":[1],"recent_processes":1001})"}) {
    CAPTURE(body);
    CHECK(status(body) == 400);
  }
  CHECK(status(Json({{"times", std::vector<int>(120, 7)}}).dump()) == 200);
  const Answer many = site.Post(
      "frames", Json({{"times", std::vector<int>(121, 7)}}).dump(), kJsonType);
  CHECK(many.status == 400);
  CHECK(many.body.find("times=121, limit=120") != std::string::npos);
}

TEST_CASE("api: wrong numbers are 400, never a guess", "[viewer][http]") {
  const RunningSite site;
  for (const char* target :
       {"state",
        "state?t=",
        "state?t=-1",
        "state?t=1e9",
        "state?t=0x10",
        "state?t=99999999999999999999999",
        "state?t=1&top=x",
        "state?t=1&top=1001",
        "aggregate?from=1",
        "aggregate?from=5&to=4",
        "aggregate?from=a&to=4",
        "aggregate?from=0&to=4&limit=1001",
        "aggregate?from=0&to=4&limit=x",
        "aggregate?from=0&to=4&offset=-1",
        "aggregate?from=0&to=4&top=1001",
        "aggregate?from=0&to=4&top=x",
        "aggregate?from=0&to=4&first=x",
        "aggregate?from=0&to=4&sort=",
        "aggregate?from=0&to=4&sort=nothing",
        "aggregate?from=0&to=4&sort=counts.99",
        "aggregate?from=0&to=4&sort=hits&order=up",
        "aggregate?from=0&to=4&tables=",
        "aggregate?from=0&to=4&tables=processes,events",
        "step?t=1&dir=next&hook=x",
        "durations?process=0&hook=1&from=0",
        "durations?process=0&hook=x&from=0&to=5",
        "durations?process=0&hook=1&from=6&to=5",
        "wait?t=5",
        "wait?thread=0",
        "wait?thread=-1&t=5",
        "events",
        "source",
        "source?hook=x",
        "source?file=/etc/passwd",
        "hits?from=1&to=2",
        "hits?hook=x&from=1&to=2",
        "hits?hook=99999999999&from=1&to=2",
        "hits?hook=1&from=2&to=1",
        "hits?hook=1&from=1&to=2&columns=0",
        "hits?hook=1&from=1&to=2&columns=2049",
        "durations?process=1&hook=1&from=0&to=9&least_ns=x",
        "events?t=x",
        "events?t=1&nth=-1",
        "events?t=1&limit=201",
        "events?t=1&dir=up",
        "step?t=1",
        "step?t=1&dir=sideways",
        "step?t=1&dir=next&kind=all",
        "threads?offset=x",
        "tile/0/99/0",
        "tile/0/0/-1",
        "tile/a/b/c",
        "tile/0/0/18446744073709551615"}) {
    CAPTURE(target);
    const Answer answer = site.GetAllowed(std::string("/api/v1/") + target);
    CHECK(answer.status == 400);
    CHECK(nlohmann::json::parse(answer.body, nullptr, false).contains("error"));
  }
  CHECK(site.GetAllowed("/api/v1/tile/1/20/0").status == 200);
  CHECK(site.GetAllowed("/api/v1/tile/4000000/20/0").status == 404);
  CHECK(site.GetAllowed("/api/v1/step?t=1&dir=next&row=999999").status == 404);
  CHECK(site.GetAllowed("/api/v1/wait?thread=999999&t=1").status == 404);
  CHECK(site.GetAllowed("/api/v1/events?t=1").body ==  // no trace
        R"({"items":[],"more":false})");
  CHECK(site.GetAllowed("/api/v1/csv?table=process").status == 404);
  CHECK(site.GetAllowed("/api/v1/compare").status == 404);
  CHECK(site.GetAllowed("/api/v1/calltree").status == 404);
  CHECK(site.GetAllowed("/api/v1/functions").status == 404);
  CHECK(site.GetAllowed("/api/v1/annotate?function=main").status == 404);
  CHECK(site.GetAllowed("/api/v1/nothing").status == 404);
}

TEST_CASE("api: tiles come back framed, in the order asked for",
          "[viewer][http]") {
  const RunningSite site;
  CHECK(site.PostTiles("{\"tiles\":[]}", "").status == 415);
  for (const char* body :
       {"", "[]", "{}", "{\"tiles\":7}", "{\"tiles\":[[1,2]]}",
        "{\"tiles\":[[1,2,-3]]}", "{\"tiles\":[[1,2,3.5]]}",
        "{\"tiles\":[[1,60,0]]}", "{\"tiles\":[[4294967296,0,0]]}"}) {
    CAPTURE(body);
    CHECK(site.PostTiles(body, kJsonType).status == 400);
  }
  const Answer answer = site.PostTiles(
      "{\"generation\":7,\"tiles\":[[1,18,0],[2,18,1],[1,0,3]]}", kJsonType);
  REQUIRE(answer.status == 200);
  std::size_t at = 0;
  for (const TileKey& key :
       {TileKey{1, 18, 0}, TileKey{2, 18, 1}, TileKey{1, 0, 3}}) {
    const auto expected = BuildTile(site.index(), key, 7);
    REQUIRE(expected.ok());
    CHECK(answer.body.compare(at, expected->size(), *expected) == 0);
    at += expected->size();
  }
  CHECK(at == answer.body.size());
}

TEST_CASE("api: processes and threads say how sure the report is of them",
          "[viewer][http]") {
  const RunningSite site;
  std::map<std::string, std::size_t> seen;
  const auto check = [&](const std::string& table, const std::string& number,
                         const auto& rows) {
    const auto items = nlohmann::json::parse(
        site.GetAllowed("/api/v1/" + table).body)["items"];
    std::map<std::uint64_t, std::string> answered;
    for (const auto& item : items) {
      answered[item[number].get<std::uint64_t>()] =
          item["quality"].get<std::string>();
      ++seen[item["quality"].get<std::string>()];
    }
    REQUIRE(answered.size() == rows.size());
    for (const auto& row : rows) {
      CHECK(answered.at(static_cast<std::uint64_t>(row.index)) ==
            rmap::QualityName(row.quality));
    }
  };
  check("processes", "process", site.report().processes);
  check("threads", "thread", site.report().threads);
  for (const char* quality : {"exact", "scaled", "bounded", "inferred"}) {
    CHECK(seen[quality] != 0);
  }
}

TEST_CASE("api: pages of the segments hold each row once", "[viewer][http]") {
  const RunningSite site;
  const auto ask = [&site](const std::string& page) {
    return nlohmann::json::parse(
        site.GetAllowed("/api/v1/aggregate?from=0&to=9999999999" + page).body);
  };
  const nlohmann::json whole = ask("");
  REQUIRE(whole["segments"].size() > 7);
  CHECK(whole["segments"].size() == whole["segments_total"]);
  nlohmann::json joined = nlohmann::json::array();
  for (std::size_t offset = 0; offset < whole["segments"].size(); offset += 7) {
    const nlohmann::json part =
        ask("&limit=7&offset=" + std::to_string(offset));
    CHECK(part["segments"].size() <= 7);
    CHECK(part["segments_total"] == whole["segments_total"]);
    CHECK(part["processes"] == whole["processes"]);
    for (const nlohmann::json& row : part["segments"]) joined.push_back(row);
  }
  CHECK(joined == whole["segments"]);
  CHECK(ask("&offset=100000")["segments"].empty());
  CHECK(ask("&limit=0")["hooks"].empty());
}

TEST_CASE("api: the top processes and the others are all of them",
          "[viewer][http]") {
  const RunningSite site;
  const auto ask = [&site](const std::string& part) {
    return nlohmann::json::parse(
        site.GetAllowed("/api/v1/aggregate?from=0&to=9999999999" + part).body);
  };
  const nlohmann::json whole = ask("");
  const auto sum = [](const nlohmann::json& answer, const char* field) {
    auto total = answer["others"][field].get<std::uint64_t>();
    for (const nlohmann::json& row : answer["processes"]) {
      total += row[field].get<std::uint64_t>();
    }
    return total;
  };
  const std::size_t all = whole["processes"].size();
  REQUIRE(all > 1);
  for (std::size_t top = 0; top <= all; ++top) {
    const nlohmann::json part =
        ask("&tables=processes&top=" + std::to_string(top));
    REQUIRE(part["processes"].size() == top);
    CHECK(part["processes_left_out"] == all - top);
    for (std::size_t i = 0; i < top; ++i) {
      CHECK(part["processes"][i] == whole["processes"][i]);
    }
    for (const char* field : {"on_cpu_ns", "dispatches"}) {
      CHECK(sum(part, field) == sum(whole, field));
    }
    for (const char* same :
         {"cpu_ns", "unknown_ns", "interrupts_ns", "idle", "outside"}) {
      CHECK(part[same] == whole[same]);
    }
    CHECK(part["segments"].empty());
    CHECK(part["segments_total"].is_null());
    CHECK(part["hooks_total"].is_null());
  }
  const nlohmann::json segments = ask("&tables=segments");
  CHECK(segments["segments"] == whole["segments"]);
  CHECK(segments["hooks"].empty());
  CHECK(ask("&tables=segments,hooks")["hooks"] == whole["hooks"]);
}

TEST_CASE("api: rows are sorted before they are paged", "[viewer][http]") {
  const RunningSite site;
  const auto ask = [&site](const std::string& part) {
    return nlohmann::json::parse(
        site.GetAllowed("/api/v1/aggregate?from=0&to=9999999999" + part).body);
  };
  const nlohmann::json whole = ask("");
  const auto check = [&](const char* table, const char* column,
                         bool ascending) {
    CAPTURE(table, column, ascending);
    // As the client would sort all rows.
    std::vector<nlohmann::json> expected(whole[table].begin(),
                                         whole[table].end());
    REQUIRE(expected.size() > 2);
    std::string path = "/" + std::string(column);
    std::replace(path.begin(), path.end(), '.', '/');
    const auto value = [&path](const nlohmann::json& row) {
      const nlohmann::json::json_pointer at(path);
      return !row.contains(at) || row[at].is_null() ? -1.0
                                                    : row[at].get<double>();
    };
    std::stable_sort(expected.begin(), expected.end(),
                     [&](const nlohmann::json& a, const nlohmann::json& b) {
                       return ascending ? value(a) < value(b)
                                        : value(a) > value(b);
                     });
    std::vector<nlohmann::json> joined;
    const std::string sort =
        std::string("&sort=") + column + (ascending ? "&order=ascending" : "");
    for (std::size_t at = 0; at < expected.size(); at += 2) {
      const std::string number = std::to_string(at);
      const nlohmann::json page =
          ask(sort + "&limit=2&offset=" + number + "&top=2&first=" + number);
      CHECK(page[table].size() <= 2);
      for (const nlohmann::json& row : page[table]) joined.push_back(row);
    }
    CHECK(joined == expected);
  };
  for (const bool ascending : {false, true}) {
    check("processes", "dispatches", ascending);
    check("segments", "calls", ascending);
    check("segments", "wall_ns.incl", ascending);
    check("segments", "wall_ns.mean", ascending);
    check("segments", "on_cpu_ns.excl", ascending);
    check("hooks", "hits", ascending);
  }
  const nlohmann::json page = ask("&top=1&first=1");
  CHECK(page["processes"][0] == whole["processes"][1]);
  CHECK(page["processes_left_out"] == whole["processes"].size() - 1);
  // Names, not numbers.
  const nlohmann::json named =
      ask("&sort=hook&order=ascending&tables=segments");
  std::string last;
  for (const nlohmann::json& row : named["segments"]) {
    std::string name;
    for (const HookEntry& hook : site.index().hooks()) {
      if (hook.id == row["hook"]) name = site.index().Text(hook.name);
    }
    CHECK(last <= name);
    last = name;
  }
  CHECK(!last.empty());
}

TEST_CASE("api: pages hold every name once", "[viewer][http]") {
  const RunningSite site;
  const auto page =
      nlohmann::json::parse(site.GetAllowed("/api/v1/threads?offset=5").body);
  CHECK(page["offset"] == 5);
  CHECK(page["total"] == site.index().threads().size());
  CHECK(page["items"].size() == site.index().threads().size() - 5);
  CHECK(nlohmann::json::parse(
            site.GetAllowed("/api/v1/rows?offset=100000").body)["items"]
            .empty());
}

TEST_CASE("http_site: of requests that wait for a report the last one stays",
          "[viewer][http]") {
  const BuiltIndex built = BuildSyntheticIndex({.dispatches = 300});
  const TraceEvents events("/no/such/trace");
  const std::string target = GENERATE(
      "aggregate?from=0&to=1000&by=report", "calltree?from=0&to=1000",
      "compare?before_from=0&before_to=9&from=10&to=20", "csv?table=process");
  CAPTURE(target);
  const auto ask = [&] {
    HttpRequest request;
    request.method = "GET";
    request.target = "/api/v1/" + target;
    return AnswerApi(*built.index, &events, request).status;
  };
  std::unique_lock making(MakingReport());
  std::future<int> asked[3];
  for (auto& one : asked) one = std::async(std::launch::async, ask);
  const auto waiting = [&] {
    return std::count_if(std::begin(asked), std::end(asked), [](auto& one) {
      return one.wait_for(std::chrono::milliseconds(5)) !=
             std::future_status::ready;
    });
  };
  for (int i = 0; i < 1000 && waiting() > 1; ++i) continue;
  CHECK(waiting() == 1);
  making.unlock();
  std::map<int, int> answers;
  for (auto& one : asked) ++answers[one.get()];
  CHECK(answers == std::map<int, int>{{409, 2}, {500, 1}});
}

TEST_CASE("http_site: a request gets answers of the index that it names",
          "[viewer][http]") {
  SyntheticTrace trace = MakeSyntheticTrace({.dispatches = 300});
  const BuiltIndex whole = BuildIndexOf(trace);
  trace.report.interrupted = true;
  trace.report.end_ns -= 1;
  const BuiltIndex part = BuildIndexOf(trace);
  REQUIRE_FALSE(part.index->is_whole());
  ServedIndexes indexes;
  const auto ask = [&indexes](const std::string& target) {
    HttpRequest request;
    request.method = "GET";
    request.target = "/api/v1/" + target;
    return AnswerApi(indexes, nullptr, request);
  };
  CHECK(ask("index").status == 503);
  CHECK(ask("recorded").status == 404);
  indexes.Publish(Shared(*part.index),
                  std::make_shared<RecordedBytes>(RecordedBytes{
                      .span = {.begin_ns = part.index->header().begin_ns,
                               .duration_ns = 5000},
                      .cpus = {1, 2},
                      .threads = {3, 4},
                      .lost = {0, 1}}));
  CHECK(Json::parse(ask("recorded").body) == Json({{"duration_ns", 5000},
                                                   {"cpu_bytes", {1, 2}},
                                                   {"thread_bytes", {3, 4}},
                                                   {"lost", {0, 1}}}));
  indexes.SetProgress({3, 4});
  const Json growth = Json::parse(ask("index").body);
  CHECK(growth["index"] == IdOf(*part.index));
  CHECK(growth["whole"] == false);
  CHECK(growth["duration_ns"] == part.index->duration_ns());
  CHECK(growth["trace_ns"] == 5000);
  CHECK(growth["done"] == 3);
  CHECK(growth["total"] == 4);
  const HttpResponse early = ask("trace");
  CHECK(early.status == 503);
  CHECK(std::count(early.headers.begin(), early.headers.end(),
                   std::pair<std::string, std::string>("Retry-After", "1")) ==
        1);
  CHECK(ask("trace?index=0123456789abcdef").status == 410);
  const std::string of_part = "trace?index=" + IdOf(*part.index);
  const std::string answer = ask(of_part).body;

  indexes.Publish(Shared(*whole.index));
  CHECK(Json::parse(ask("index").body)["index"] == IdOf(*whole.index));
  CHECK(Json::parse(ask("index").body)["trace_ns"] ==
        whole.index->duration_ns());
  CHECK(Json::parse(ask("trace").body)["duration_ns"] ==
        whole.index->duration_ns());
  // A page that has not changed yet.
  CHECK(ask(of_part).body == answer);
  CHECK(ask("recorded").status == 200);
}

}  // namespace countrace::viewer
