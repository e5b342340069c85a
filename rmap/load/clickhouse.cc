// ClickHouse over HTTP, from 18.16 on: no statement that is newer.
//
// An INSERT of at most kBatchRows becomes one part, which is there or not; an
// INSERT that was cut off may leave its first rows. Rows that come twice, of an
// INSERT that went on without its loader, are merged into one: the table's key
// is trace and row.
#include <algorithm>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "rmap/load/engine.h"

namespace countrace::rmap {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Request = http::request<http::span_body<const char>>;
using Answer = http::response<http::string_body>;

constexpr std::uint64_t kAnswerBytes = std::uint64_t{1} << 30;

constexpr int kHoldTries = 3000;  // every 0.1 s

// A column that is not of the report has a default of its own: so all loads
// make the same view of a table.
constexpr char kColumns[] =
    "SELECT table, name, type, default_kind = '' AND name NOT IN "
    "('boot', 'row') FROM system.columns WHERE database = currentDatabase()";

constexpr Dialect kDialect = {
    .integer = "Nullable(Int64)",
    .real = "Nullable(Float64)",
    .text = "Nullable(String)",
    .name = "String",
    .uuid = "UUID",
    .number = "Int64",
    .not_of_report = " DEFAULT NULL",
    .table_end = R"() ENGINE = ReplacingMergeTree ORDER BY ("trace", "row"))",
    .columns = kColumns,
    .add_column = "ADD COLUMN ",
    .drop_view = "DROP TABLE IF EXISTS ",
    .create_view = "CREATE VIEW ",
    .replaces_view = false,
    .rename_table = "RENAME TABLE ",
    .rename_to = " TO ",
    .name_bytes = 1000};

template <typename Number>
void AppendRaw(Number number, std::string& out) {
  char bytes[sizeof(number)];
  std::memcpy(bytes, &number, sizeof(number));  // little-endian
  out.append(bytes, sizeof(bytes));
}

void AppendText(std::string_view text, std::string& out) {
  std::size_t size = text.size();
  for (; size >= 0x80; size >>= 7) out += static_cast<char>(size | 0x80);
  out += static_cast<char>(size);
  out += text;
}

// Two numbers, the first half first.
void AppendUuid(const EngineUuid& uuid, std::string& out) {
  for (const std::size_t half : {0, 8}) {
    for (std::size_t i = 8; i-- > 0;) {
      out += static_cast<char>(uuid[half + i]);
    }
  }
}

// "Code: 60, e.displayText() = DB::Exception: WHAT, e.what() = ..."
std::string WordsOf(std::string_view text) {
  constexpr std::string_view kBegin = "DB::Exception: ", kEnd = ", e.what()";
  if (const std::size_t at = text.find(kBegin); at != text.npos) {
    text.remove_prefix(at + kBegin.size());
  }
  text = text.substr(0, std::min(text.find(kEnd), text.find('\n')));
  return std::string(text.substr(0, 300));
}

class ClickHouse final : public Engine {
 public:
  ClickHouse(EngineAddress address, std::string password, std::string cluster)
      : address_(std::move(address)),
        password_(std::move(password)),
        cluster_(std::move(cluster)) {}

  absl::Status Open() {
    return Ask("CREATE DATABASE IF NOT EXISTS \"" + address_.database + '"',
               "/")
        .status();
  }

  const Dialect& dialect() const override { return kDialect; }
  bool HasRows() const override { return cluster_.empty(); }
  std::string TableEnd(const std::string& table) const override {
    if (HasRows()) return kDialect.table_end;
    return absl::StrFormat(
        ") ENGINE = Distributed(\"%s\", \"%s%s\", \"%s\", "
        "cityHash64(\"host\"))",
        cluster_, address_.database, kLocalEnd, table);
  }
  absl::Status Run(const std::string& sql) override {
    return Ask(sql, Target()).status();
  }

  absl::Status Read(
      const std::string& select,
      const std::function<absl::Status(const TextRow&)>& on_row) override {
    const auto text = Ask(select + " FORMAT TabSeparated", Target());
    if (!text.ok()) return text.status();
    for (std::string_view rest = *text; !rest.empty();) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      const absl::Status status = on_row(CellsOf(rest.substr(0, end)));
      if (!status.ok()) return status;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return absl::OkStatus();
  }

  void Append(const TraceKey& trace, std::int64_t row,
              std::span<const Value> values, std::string& rows) const override {
    AppendText(trace.host, rows);
    AppendUuid(trace.boot, rows);
    AppendUuid(trace.trace, rows);
    AppendRaw(row, rows);
    for (const Value& value : values) {
      rows += value.index() == 0 ? '\1' : '\0';
      if (const auto* number = std::get_if<std::int64_t>(&value)) {
        AppendRaw(*number, rows);
      } else if (const auto* real = std::get_if<double>(&value)) {
        AppendRaw(*real, rows);
      } else if (const auto* text = std::get_if<std::string_view>(&value)) {
        AppendText(*text, rows);
      }
    }
  }

  // In the body, since it may be too long for an address.
  std::string BatchHead(const std::string& into) const override {
    return "INSERT INTO " + into + " FORMAT RowBinary\n";
  }

  absl::Status Insert(const std::string& /*into*/,
                      std::string_view rows) override {
    return Ask(rows, absl::StrFormat("%s&query_id=%s-%d", Target(), query_id_,
                                     ++inserts_))
        .status();
  }

  // An INSERT goes on when its loader has died.
  absl::Status HoldTrace(const std::string& trace) override {
    query_id_ = "countrace-" + trace;
    for (int i = 0; i < kHoldTries; ++i) {
      bool busy = false;
      const absl::Status status =
          Read(absl::StrFormat(
                   "SELECT 1 FROM system.processes WHERE query_id LIKE '%s-%%'",
                   query_id_),
               [&](const TextRow&) {
                 busy = true;
                 return absl::OkStatus();
               });
      if (!status.ok() || !busy) return status;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return absl::UnavailableError(absl::StrFormat(
        "%s inserts rows of this trace: another `load` of it is at work",
        address_.Shown()));
  }

  absl::Status BeginTables() override { return absl::OkStatus(); }
  absl::Status EndTables() override { return absl::OkStatus(); }

  absl::Status Settle(const std::string& table, const std::string& trace,
                      std::int64_t rows) override {
    for (const bool merged : {false, true}) {
      std::string found;
      const absl::Status status = Read(
          absl::StrFormat("SELECT count() FROM \"%s\" WHERE \"trace\" = '%s'",
                          table, trace),
          [&](const TextRow& row) {
            found = row[0].value_or("");
            return absl::OkStatus();
          });
      if (!status.ok()) return status;
      if (found == std::to_string(rows)) return absl::OkStatus();
      if (merged) {
        return absl::InternalError(
            absl::StrFormat("%s has %s rows of this trace in %s, not %d",
                            address_.Shown(), found, table, rows));
      }
      const absl::Status done = Run("OPTIMIZE TABLE \"" + table + "\" FINAL");
      if (!done.ok()) return done;
    }
    return absl::OkStatus();
  }

 private:
  static std::string Escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
      absl::StrAppendFormat(&out, "%%%02X", static_cast<unsigned char>(c));
    }
    return out;
  }
  std::string Target() const {
    return "/?database=" + Escaped(address_.database);
  }

  absl::StatusOr<std::string> Ask(std::string_view body,
                                  const std::string& target) {
    Request request(http::verb::post, target, 11);
    request.set(http::field::host, address_.host);
    if (!address_.user.empty()) {
      request.set("X-ClickHouse-User", address_.user);
    }
    if (!password_.empty()) request.set("X-ClickHouse-Key", password_);
    request.keep_alive(false);
    request.body() = {body.data(), body.size()};
    request.prepare_payload();
    beast::error_code error;
    auto answer = Exchange(request, error);
    if (error) {
      return absl::UnavailableError(
          absl::StrFormat("%s: %s", address_.Shown(), error.message()));
    }
    const unsigned status = answer.result_int();
    if (status == 200) return std::move(answer.body());
    const std::string what =
        absl::StrFormat("%s: %s", address_.Shown(), WordsOf(answer.body()));
    if (status == 401 || status == 403) {
      return absl::PermissionDeniedError(what);
    }
    // 18.16 has 500 for most.
    const bool denied = what.find("password") != what.npos;
    return denied ? absl::PermissionDeniedError(what)
                  : absl::InvalidArgumentError(what);
  }

  // A connection for each: no idle one that the server has closed.
  Answer Exchange(const Request& request, beast::error_code& error) const {
    asio::io_context context;
    asio::ssl::context tls(asio::ssl::context::tls_client);
    asio::ssl::stream<asio::ip::tcp::socket> stream(context, tls);
    {
      const Awaited awaited(address_, kConnectSeconds);
      asio::ip::tcp::resolver resolver(context);
      const auto found = resolver.resolve(address_.host, address_.port, error);
      if (!error) asio::connect(stream.next_layer(), found, error);
    }
    if (error || !address_.encrypted) {
      return error ? Answer() : Talk(stream.next_layer(), request, error);
    }
    const Awaited awaited(address_);
    tls.set_default_verify_paths(error);
    stream.set_verify_mode(asio::ssl::verify_peer, error);
    stream.set_verify_callback(asio::ssl::host_name_verification(address_.host),
                               error);
    SSL_set_tlsext_host_name(stream.native_handle(), address_.host.c_str());
    stream.handshake(asio::ssl::stream_base::client, error);
    return error ? Answer() : Talk(stream, request, error);
  }

  template <typename Stream>
  Answer Talk(Stream& stream, const Request& request,
              beast::error_code& error) const {
    const Awaited awaited(address_);
    beast::error_code not_sent;
    http::write(stream, request, not_sent);
    // Also of a request that was refused before its end.
    http::response_parser<http::string_body> parser;
    parser.body_limit(kAnswerBytes);
    beast::flat_buffer buffer;
    http::read(stream, buffer, parser, error);
    if (error && not_sent) error = not_sent;
    return parser.release();
  }

  const EngineAddress address_;
  const std::string password_, cluster_;
  std::string query_id_;
  int inserts_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Engine>> OpenClickHouse(
    const EngineAddress& address, const std::string& password,
    const std::string& cluster) {
  auto engine = std::make_unique<ClickHouse>(address, password, cluster);
  const absl::Status status = engine->Open();
  if (!status.ok()) return status;
  return engine;
}

}  // namespace countrace::rmap
