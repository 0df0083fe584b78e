#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "gangsched/core/hash.hpp"
#include "gangsched/core/quantity.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::quantity_test {

using namespace gangsched::literals;

namespace {

constexpr auto si = quantity_format::decimal_si;
constexpr auto bin = quantity_format::binary_si;
constexpr auto sci = quantity_format::decimal_exponent;
constexpr std::string_view over = "does not fit";

// ---- A second implementation for comparison: decimal strings, one digit at a time ----

std::string without_leading_zeros(const std::string& digits) {
  const std::size_t first = digits.find_first_not_of('0');
  return first == digits.npos ? "0" : digits.substr(first);
}

bool above(const std::string& a, const std::string& b) { return a.size() != b.size() ? a.size() > b.size() : a > b; }

std::string added(const std::string& a, const std::string& b) {
  std::string sum;
  int carry = 0;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()) || carry != 0; ++i) {
    if (i < a.size()) carry += a[a.size() - 1 - i] - '0';
    if (i < b.size()) carry += b[b.size() - 1 - i] - '0';
    sum.insert(sum.begin(), static_cast<char>('0' + carry % 10));
    carry /= 10;
  }
  return without_leading_zeros(sum);
}

/// digits × 10^shift, rounded up.
std::string shifted(const std::string& digits, int shift) {
  if (shift >= 0) return without_leading_zeros(digits + std::string(static_cast<std::size_t>(shift), '0'));
  const auto cut = static_cast<std::size_t>(-shift);
  const std::string padded = std::string(cut, '0') + digits;
  const std::string kept = without_leading_zeros(padded.substr(0, padded.size() - cut));
  return padded.find_first_not_of('0', padded.size() - cut) == padded.npos ? kept : added(kept, "1");
}

struct spelling {
  bool minus = false;
  std::string whole, fraction;
  int twos = 0, tens = 0;
};

/// The size in nanos.
std::string plain_nanos(const spelling& text) {
  std::string digits = without_leading_zeros(text.whole + text.fraction);
  for (int i = 0; i < text.twos; ++i) digits = added(digits, digits);
  const std::string nanos = shifted(digits, text.tens + 9 - static_cast<int>(text.fraction.size()));
  const std::string cap = "9223372036854775807000000000";
  return text.twos > 0 && above(nanos, cap) ? cap : nanos;
}

/// The size in nanos as an integer of 10^decimals nanos; `over` if it is not in 64 bits.
std::string plain_integer(const spelling& text, int decimals) {
  const std::string size = shifted(plain_nanos(text), -decimals);
  if (above(size, text.minus ? "9223372036854775808" : "9223372036854775807")) return std::string(over);
  return size == "0" || !text.minus ? size : "-" + size;
}

// ---- What the library says, as text ----

std::string value_of(const quantity& q) {
  const result<std::int64_t> value = q.value();
  std::int64_t quick = 0;
  REQUIRE(q.value(quick) == value.has_value());
  if (!value) return std::string(over);
  REQUIRE(quick == *value);
  return std::to_string(*value);
}

std::string milli_of(const quantity& q) {
  const result<std::int64_t> milli = q.milli_value();
  std::int64_t quick = 0;
  REQUIRE(q.milli_value(quick) == milli.has_value());
  if (!milli) return std::string(over);
  REQUIRE(quick == *milli);
  return std::to_string(*milli);
}

std::string nanos_of(const quantity& q) {
  std::string digits;
  for (quantity::nanos_t rest = q.nanos(); rest != 0; rest /= 10) {
    const auto digit = static_cast<int>(rest % 10);
    digits.insert(digits.begin(), static_cast<char>('0' + (digit < 0 ? -digit : digit)));
  }
  if (digits.empty()) return "0";
  return q.negative() ? "-" + digits : digits;
}

quantity parsed(std::string_view text) {
  CAPTURE(text);
  result<quantity> q = quantity::parse(text);
  REQUIRE(q);
  return *q;
}

errc why_not(std::string_view text) {
  CAPTURE(text);
  const result<quantity> q = quantity::parse(text);
  REQUIRE_FALSE(q);
  CHECK(q.error().object == "quantity");
  CHECK(q.error().field == text);
  CHECK_FALSE(q.error().reason.empty());
  return q.error().code;
}

struct row {
  std::string_view text, value, milli, canonical;
  quantity_format format;
};

void check_rows(const std::vector<row>& rows) {
  for (const row& expected : rows) {
    CAPTURE(expected.text);
    const quantity q = parsed(expected.text);
    CHECK(value_of(q) == expected.value);
    CHECK(milli_of(q) == expected.milli);
    CHECK(q.to_string() == expected.canonical);
    CHECK((q.format() == expected.format));
    CHECK((parsed(expected.canonical) == q));
  }
}

void check_malformed(std::initializer_list<std::string_view> texts) {
  for (const std::string_view text : texts) {
    CAPTURE(text);
    CHECK((why_not(text) == errc::malformed));
  }
}

/// Dice: a function of how often it was thrown.
struct dice {
  std::uint64_t state;
  std::uint64_t operator()(std::uint64_t sides) { return mix64(state++) % sides; }
  std::string digits(std::uint64_t most) {
    std::string text;
    for (std::uint64_t length = (*this)(most + 1); length > 0; --length) {
      // zeros and nines are where rounding and carrying happen
      text += static_cast<char>('0' + ((*this)(3) == 0 ? (*this)(2) * 9 : (*this)(10)));
    }
    return text;
  }
};

}  // namespace

TEST_CASE("the vectors of the Kubernetes notes come out as written there", "[core][quantity]") {
  CHECK(milli_of(parsed("100m")) == "100");
  CHECK(milli_of(parsed("0.1")) == "100");
  CHECK(milli_of(parsed("1")) == "1000");
  CHECK(milli_of(parsed("1.0005")) == "1001");
  CHECK(value_of(parsed("0.5")) == "1");
  CHECK(value_of(parsed("1500m")) == "2");
  CHECK(value_of(parsed("1Gi")) == "1073741824");
  CHECK(value_of(parsed("1G")) == "1000000000");
  CHECK(value_of(parsed("12e6")) == "12000000");
  CHECK(value_of(parsed("2Ei")) == "2305843009213693952");
}

TEST_CASE("quantities recorded from Kubernetes 1.36 have the recorded value, text and format", "[core][quantity]") {
  // Rows of the recorded quantities.jsonl. Where upstream hands back the input, the canonical text is the normalised one.
  check_rows({
      {"9223372036854775", "9223372036854775", "9223372036854775000", "9223372036854775", si},
      {"9223372036854775807", "9223372036854775807", over, "9223372036854775807", si},
      {"18446744073709551615", over, over, "18446744073709551615", si},
      {"9223372036854775.807", "9223372036854776", "9223372036854775807", "9223372036854775807m", si},
      {"9223372036854775.8075", "9223372036854776", over, "9223372036854775807500u", si},
      {"+463969129696", "463969129696", "463969129696000", "463969129696", si},
      {"+11.95608102", "12", "11957", "11956081020n", si},
      {"-62195572849", "-62195572849", "-62195572849000", "-62195572849", si},
      {"-9223372036854775809", over, over, "-9223372036854775809", si},
      {"-060.750974902", "-61", "-60751", "-60750974902n", si},
      {"0E", "0", "0", "0", si},
      {"1E", "1000000000000000000", over, "1E", si},
      {"43507487209E", over, over, "43507487209E", si},
      {".5302573818E", "530257381800000000", over, "530257381800M", si},
      {"977.58047932E", over, over, "977580479320G", si},
      {"+4134010E", over, over, "4134010E", si},
      {"+5.2E", "5200000000000000000", over, "5200P", si},
      {"+2080.71E", over, over, "2080710P", si},
      {"-44412101492E", over, over, "-44412101492E", si},
      {"-925.51402669E", over, over, "-925514026690G", si},
      {"1E+3", "1000", "1000000", "1e3", sci},
      {"1E-3", "1", "1", "1e-3", sci},
      {"229184892030E2", "22918489203000", "22918489203000000", "22918489203e3", sci},
      {"37.53131234753E2", "3754", "3753132", "3753131234753e-9", sci},
      {"+5489637290E2", "548963729000", "548963729000000", "548963729e3", sci},
      {"+652.96961704443E2", "65297", "65296962", "65296961704443e-9", sci},
      {"-0320600E2", "-32060000", "-32060000000", "-32060e3", sci},
      {"-6.4962929005E2", "-650", "-649630", "-649629290050e-9", sci},
      {"1E18", "1000000000000000000", over, "1e18", sci},
      {"00Ei", "0", "0", "0", bin},
      {"380693300890Ei", "9223372036854775807", over, "9223372036854775807", bin},
      {"381.056040029Ei", "9223372036854775807", over, "9223372036854775807", bin},
      {"+171850768Ei", "9223372036854775807", over, "9223372036854775807", bin},
      {"+485.1Ei", "9223372036854775807", over, "9223372036854775807", bin},
      {"-1000Ei", "-9223372036854775807", over, "-9223372036854775807", bin},
      {"-139.36206057731Ei", "-9223372036854775807", over, "-9223372036854775807", bin},
      {"1048576G", "1048576000000000", "1048576000000000000", "1048576G", si},
      {"723311662G", "723311662000000000", over, "723311662G", si},
      {"757996630919G", over, over, "757996630919G", si},
      {"99.3596948841G", "99359694885", "99359694884100", "99359694884100m", si},
      {"+1023G", "1023000000000", "1023000000000000", "1023G", si},
      {"+4299926241G", "4299926241000000000", over, "4299926241G", si},
      {"+07.468956G", "7468956000", "7468956000000", "7468956k", si},
      {"-59215G", "-59215000000000", "-59215000000000000", "-59215G", si},
      {"-607093092G", "-607093092000000000", over, "-607093092G", si},
      {"-3.6491G", "-3649100000", "-3649100000000", "-3649100k", si},
      {"1048576Gi", "1125899906842624", "1125899906842624000", "1Pi", bin},
      {"200498099927Gi", "9223372036854775807", over, "9223372036854775807", bin},
      {"157.04200652464Gi", "168622570531", "168622570530387", "168622570530386854544n", bin},
      {"+063925Gi", "68638946099200", "68638946099200000", "63925Gi", bin},
      {"+9.40274376809Gi", "10096119245", "10096119244154", "10096119244153589597n", bin},
      {"-4096Gi", "-4398046511104", "-4398046511104000", "-4Ti", bin},
      {"-948.Gi", "-1017907249152", "-1017907249152000", "-948Gi", bin},
      {"1000000000000Ki", "1024000000000000", "1024000000000000000", "976562500Mi", bin},
      {"9007199254740991Ki", "9223372036854774784", over, "9007199254740991Ki", bin},
      {"240.10433040875Ki", "245867", "245866835", "245866834338560n", bin},
      {"0.0009Ki", "1", "922", "921600u", si},
      {"+0070Ki", "71680", "71680000", "70Ki", bin},
      {"+7.850098581Ki", "8039", "8038501", "8038500946944n", bin},
      {"-515167137Ki", "-527531148288", "-527531148288000", "-515167137Ki", bin},
      {"060929078M", "60929078000000", "60929078000000000", "60929078M", si},
      {"52690446269M", "52690446269000000", over, "52690446269M", si},
      {"069.56175898550M", "69561759", "69561758986", "69561758985500u", si},
      {"097069010Mi", "101784234229760", "101784234229760000", "97069010Mi", bin},
      {"060490144121Mi", "63428513361821696", over, "60490144121Mi", bin},
      {"2.29784313449Mi", "2409464", "2409463163", "2409463162590987n", bin},
      {"+309887601Mi", "324940701106176", "324940701106176000", "309887601Mi", bin},
      {"+787.210Mi", "825449513", "825449512960", "825449512960m", bin},
      {"-87895394Mi", "-92165000658944", "-92165000658944000", "-87895394Mi", bin},
      {"-350.Mi", "-367001600", "-367001600000", "-350Mi", bin},
      {"1P", "1000000000000000", "1000000000000000000", "1P", si},
      {"9223P", "9223000000000000000", over, "9223P", si},
      {"226834503747P", over, over, "226834503747P", si},
      {"3.80753954P", "3807539540000000", "3807539540000000000", "3807539540M", si},
      {"079.8057213352P", "79805721335200000", over, "79805721335200k", si},
      {"04Pi", "4503599627370496", "4503599627370496000", "4Pi", bin},
      {"094980016949Pi", "9223372036854775807", over, "9223372036854775807", bin},
      {"7.61995291520Pi", "8579304277368862", "8579304277368861177", "8579304277368861176417485n", bin},
      {"320.9489701Pi", "361356415536826116", over, "361356415536826115581542400n", bin},
      {"+07Pi", "7881299347898368", "7881299347898368000", "7Pi", bin},
      {"+892306660Pi", "9223372036854775807", over, "9223372036854775807", bin},
      {"+3.2970301044Pi", "3712125887401287", "3712125887401286882", "3712125887401286881089946n", bin},
      {"+91.495Pi", "103014211976565883", over, "103014211976565882880m", bin},
      {"-02021646669Pi", "-9223372036854775807", over, "-9223372036854775807", bin},
      {"07606T", "7606000000000000", "7606000000000000000", "7606T", si},
      {"07869836T", "7869836000000000000", over, "7869836T", si},
      {"090954496453T", over, over, "90954496453T", si},
      {"55.92298699996T", "55922986999960", "55922986999960000", "55922986999960", si},
      {"1353Ti", "1487639232380928", "1487639232380928000", "1353Ti", bin},
      {"111035499218Ti", "9223372036854775807", over, "9223372036854775807", bin},
      {"32.2829387900Ti", "35495466578386", "35495466578385872", "35495466578385871831040n", bin},
      {"8420.9513Ti", "9258933871285424", over, "9258933871285423308800u", bin},
      {"+08103Ti", "8909342719868928", "8909342719868928000", "8103Ti", bin},
      {"+0903199Ti", "993077802695655424", over, "903199Ti", bin},
      {"+53.0645899092Ti", "58345133628331", "58345133628330397", "58345133628330396037940n", bin},
      {"-94Ti", "-103354093010944", "-103354093010944000", "-94Ti", bin},
      {"-0405083703Ti", "-9223372036854775807", over, "-9223372036854775807", bin},
      {"940428585958e+1", "9404285859580", "9404285859580000", "9404285859580", sci},
      {"0.62499999463e+1", "7", "6250", "6249999947e-9", sci},
      {"+88991654e+1", "889916540", "889916540000", "889916540", sci},
      {"+.56749166e+1", "6", "5675", "5674916600e-9", sci},
      {"-25187912027e+1", "-251879120270", "-251879120270000", "-251879120270", sci},
      {"-007.6925128879e+1", "-77", "-76926", "-76925128879e-9", sci},
      {"951006593090e-9", "952", "951007", "951006593090e-9", sci},
      {"83.76091374920e-2", "1", "838", "837609138e-9", sci},
      {"+565905980645e-2", "5659059807", "5659059806450", "5659059806450e-3", sci},
      {"+4913.5068e-2", "50", "49136", "49135068e-6", sci},
      {"-92441800999e-2", "-924418010", "-924418009990", "-924418009990e-3", sci},
      {"-960.983793e-2", "-10", "-9610", "-9609837930e-9", sci},
      {"15e-10", "1", "1", "2e-9", sci},
      {"609740499849e0", "609740499849", "609740499849000", "609740499849", sci},
      {"9928190106e6", "9928190106000000", over, "9928190106e6", sci},
      {"07.79829272277e0", "8", "7799", "7798292723e-9", sci},
      {"+921095e6", "921095000000", "921095000000000", "921095e6", sci},
      {"+5.64529999998e0", "6", "5646", "5645300e-6", sci},
      {"-780090376857e3", "-780090376857000", "-780090376857000000", "-780090376857e3", sci},
      {"-.18028738e3", "-181", "-180288", "-180287380e-6", sci},
      {"31865e10", "318650000000000", "318650000000000000", "318650e9", sci},
      {"0596036557e10", "5960365570000000000", over, "5960365570e9", sci},
      {"831710990000e10", over, over, "8317109900e12", sci},
      {"23.455149966e10", "234551499660", "234551499660000", "234551499660", sci},
      {"+0901e10", "9010000000000", "9010000000000000", "9010e9", sci},
      {"+08390589110e10", over, over, "83905891100e9", sci},
      {"+2.06214672e10", "20621467200", "20621467200000", "20621467200", sci},
      {"-0218e10", "-2180000000000", "-2180000000000000", "-2180e9", sci},
      {"-0925300e10", "-9253000000000000", over, "-9253e12", sci},
      {"-40005576966e10", over, over, "-400055769660e9", sci},
      {"-5.11959586042e10", "-51195958605", "-51195958604200", "-51195958604200e-3", sci},
      {"4009244081k", "4009244081000", "4009244081000000", "4009244081k", si},
      {"90.00269907059k", "90003", "90002700", "90002699070590n", si},
      {"472866903438m", "472866904", "472866903438", "472866903438m", si},
      {"00.6302691197m", "1", "1", "630270n", si},
      {"+091536m", "92", "91536", "91536m", si},
      {"+64.71930670922m", "1", "65", "64719307n", si},
      {"-1000000m", "-1000", "-1000000", "-1k", si},
      {"-669.900m", "-1", "-670", "-669900u", si},
      {"12405098025n", "13", "12406", "12405098025n", si},
      {"344.4905750632n", "1", "1", "345n", si},
      {"+96027n", "1", "1", "96027n", si},
      {"+600.883n", "1", "1", "601n", si},
      {"-1048576n", "-1", "-2", "-1048576n", si},
      {"-9.n", "-1", "-1", "-9n", si},
      {"049594546395u", "49595", "49594547", "49594546395u", si},
      {"900.140890179u", "1", "1", "900141n", si},
  });
}

TEST_CASE("the caps, roundings and spellings that are easy to get wrong", "[core][quantity]") {
  check_rows({
      {"0", "0", "0", "0", si},
      {"-0", "0", "0", "0", si},
      {"0.000", "0", "0", "0", si},
      {"0e0", "0", "0", "0", sci},
      {".5", "1", "500", "500m", si},
      {"4.", "4", "4000", "4", si},
      {"+1.250", "2", "1250", "1250m", si},
      {"00.100", "1", "100", "100m", si},
      {"50e-3", "1", "50", "50e-3", sci},
      {"0.00005k", "1", "50", "50m", si},
      {"0.1n", "1", "1", "1n", si},
      {"1.1n", "1", "1", "2n", si},
      {"1.0n", "1", "1", "1n", si},
      {"0.000000000000000000000000000000000000000000000000001", "1", "1", "1n", si},
      {"0.9999999999", "1", "1000", "1", si},
      {"1.5Gi", "1610612736", "1610612736000", "1536Mi", bin},
      {"1024Mi", "1073741824", "1073741824000", "1Gi", bin},
      {"1000Mi", "1048576000", "1048576000000", "1000Mi", bin},
      {"1Ki", "1024", "1024000", "1Ki", bin},
      {"0.5Ki", "512", "512000", "512", bin},
      {"1023.5Ki", "1048064", "1048064000", "1048064", bin},
      {"0.0009765625Ki", "1", "1000", "1", bin},
      {"0.0009765624Ki", "1", "1000", "999999898n", si},
      {"0.0000000000001Ki", "1", "1", "1n", si},
      {"1.0000000000000000000000000000000001Ki", "1025", "1024001", "1024000000001n", bin},
      {"7Ei", "8070450532247928832", over, "7Ei", bin},
      {"8Ei", "9223372036854775807", over, "9223372036854775807", bin},
      {"-8Ei", "-9223372036854775807", over, "-9223372036854775807", bin},
      {"9223372036854775807", "9223372036854775807", over, "9223372036854775807", si},
      {"9223372036854775808", over, over, "9223372036854775808", si},
      {"9223372036854775807.1", over, over, "9223372036854775807100m", si},
      {"10E", over, over, "10E", si},
      {"1000E", over, over, "1000E", si},
      {"1e21", over, over, "1e21", sci},
      {"1E3", "1000", "1000000", "1e3", sci},
      {"1e3", "1000", "1000000", "1e3", sci},
      {"1e+03", "1000", "1000000", "1e3", sci},
      {"100000", "100000", "100000000", "100k", si},
      {"1001", "1001", "1001000", "1001", si},
  });
}

TEST_CASE("a quantity is made from every integer, and from no fraction, truth or character", "[core][quantity]") {
  STATIC_REQUIRE_FALSE(std::is_constructible_v<quantity, double>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<quantity, bool>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<quantity, char>);
  STATIC_REQUIRE(quantity{std::numeric_limits<std::uint64_t>::max()}.nanos() ==
                 static_cast<quantity::nanos_t>(std::numeric_limits<std::uint64_t>::max()) * 1'000'000'000);
  STATIC_REQUIRE(quantity{std::int8_t{-4}} == quantity{-4ll});
}

TEST_CASE("negative amounts round away from zero whatever their spelling", "[core][quantity]") {
  // Where upstream's Value() and MilliValue() of negative amounts are accidents: it says 1 for -1.1n,
  // -9894362 for -9.436Mi and 8070450533 for -010Pi.
  check_rows({
      {"-1.1n", "-1", "-1", "-2n", si},
      {"-0.4", "-1", "-400", "-400m", si},
      {"-0.0009765624Ki", "-1", "-1000", "-999999898n", si},
      {"-9.436Mi", "-9894364", "-9894363136", "-9894363136m", bin},
      {"-010Pi", "-11258999068426240", over, "-10Pi", bin},
      {"-9223372036854775808", "-9223372036854775808", over, "-9223372036854775808", si},
      {"-9223372036854775.808", "-9223372036854776", "-9223372036854775808", "-9223372036854775808m", si},
      {"-9223372036854775808.000000001", over, over, "-9223372036854775808000000001n", si},
  });
}

TEST_CASE("text that is no quantity is malformed", "[core][quantity]") {
  using namespace std::string_view_literals;
  check_malformed({"", " ", " 1", "1 ", "\t1", "1\n", "1\0"sv, "1 Gi", "- 1", "\"1\"", "1 i", "1e 3"});
  check_malformed(
      {"1K", "1mi", "1KI", "1ki", "1gi", "1g", "1MI", "1B", "1GiB", "1Kib", "1MB", "1Zi", "1Z", "1i", "1ni"});
  check_malformed({"1Kii", "1kk", "1mm", "1un", "1h", "1%", "1iK", "1Em", "1Eie3", "1EE", "1ke3", "1e3k", "1e3Ki"});
  check_malformed({"1e", "1e+", "1E-", "1ee3", "1e1.5", "1e+-3", "1e0x1", "9e1e1", "1e99999999999999999999"});
  check_malformed({"1e-99999999999999999999", "1e9223372036854775808", "1e-9223372036854775809"});
  check_malformed({"1.1.1", "1..1", "..1", "..", "1.1.", "1.1.M", "++1", "--1", "+-1", "1+", "1-", "1-1", ".5i"});
  check_malformed({"1_000", "1,000", "0x10", "0b1", "inf", "NaN", "one", "1\xd9\xa3", "\xc2\xbd", "$1", "1/", "1:"});
}

TEST_CASE("text without a digit in its number is malformed, though upstream reads 0", "[core][quantity]") {
  check_malformed({".", "+", "-", "m", "k", "Ki", "E", "e3", ".m", ".Ki", "+m", "-Ki", "-.", "e-3"});
}

TEST_CASE("amounts beyond 2^127-1 billionths are out of range, long or with a large exponent", "[core][quantity]") {
  const std::string most = "170141183460469231731687303715.884105727";
  CHECK(nanos_of(parsed(most)) == "170141183460469231731687303715884105727");
  CHECK(nanos_of(parsed("-" + most)) == "-170141183460469231731687303715884105727");
  CHECK(value_of(parsed(most)) == over);
  CHECK(milli_of(parsed("-" + most)) == over);
  CHECK((why_not("170141183460469231731687303715.884105728") == errc::out_of_range));
  CHECK((why_not(most + "0001") == errc::out_of_range));
  CHECK((why_not("1" + std::string(1000, '0')) == errc::out_of_range));
  for (const char* text : {"1e40", "-1e40", "1e30", "999999911895E", "1e999999999999", "1e9223372036854775807"}) {
    CAPTURE(text);
    CHECK((why_not(text) == errc::out_of_range));
  }
}

TEST_CASE("exponents of any size cost no more than their digits", "[core][quantity]") {
  CHECK(nanos_of(parsed("0e9223372036854775807")) == "0");
  CHECK(nanos_of(parsed("0.000e999999999999")) == "0");
  CHECK(nanos_of(parsed("1e-999999999999")) == "1");
  CHECK(nanos_of(parsed("-1e-9223372036854775808")) == "-1");
  CHECK(nanos_of(parsed("1" + std::string(5000, '0') + "e-5000")) == "1000000000");
  CHECK(nanos_of(parsed("0." + std::string(5000, '0') + "12e5001")) == "1200000000");
}

TEST_CASE("binary amounts are capped however long they are written", "[core][quantity]") {
  CHECK(value_of(parsed(std::string(500, '9') + "Ki")) == "9223372036854775807");
  CHECK(value_of(parsed("7.99999999999999999999Ei")) == "9223372036854775807");
  CHECK(value_of(parsed("0." + std::string(500, '9') + "Ki")) == "1024");
  CHECK(value_of(parsed(std::string(500, '0') + "1." + std::string(500, '0') + "Ei")) == "1152921504606846976");
}

TEST_CASE("any spelling agrees with arithmetic on decimal strings, and its text reads back", "[core][quantity]") {
  struct unit {
    std::string suffix;
    int twos, tens;
  };
  const std::vector<unit> units{{"n", 0, -9},  {"u", 0, -6},  {"m", 0, -3},  {"", 0, 0},   {"k", 0, 3},   {"M", 0, 6},
                                {"G", 0, 9},   {"T", 0, 12},  {"P", 0, 15},  {"E", 0, 18}, {"Ki", 10, 0}, {"Mi", 20, 0},
                                {"Gi", 30, 0}, {"Ti", 40, 0}, {"Pi", 50, 0}, {"Ei", 60, 0}};
  const std::string limit = "170141183460469231731687303715884105727";
  int accepted = 0, refused = 0, fits = 0;
  dice roll{2024};
  for (int i = 0; i < 6000; ++i) {
    const bool tall = roll(4) == 0;  // long numbers, which mostly overflow
    spelling text{roll(3) == 0, roll.digits(tall ? 36 : 12), roll.digits(tall ? 60 : 14)};
    if (text.whole.empty() && text.fraction.empty()) text.whole = "0";
    unit chosen = units[roll(units.size())];
    if (roll(4) == 0) {
      const int exponent = static_cast<int>(roll(41)) - 20;
      const std::string sign = exponent > 0 && roll(2) == 0 ? "+" : "";
      chosen = {(roll(2) == 0 ? "e" : "E") + sign + std::to_string(exponent), 0, exponent};
    }
    text.twos = chosen.twos;
    text.tens = chosen.tens;
    const std::string plus = roll(4) == 0 ? "+" : "";
    const std::string written = (text.minus ? "-" : plus) + text.whole +
                                (text.fraction.empty() && roll(2) == 0 ? "" : "." + text.fraction) + chosen.suffix;
    CAPTURE(written);

    const std::string nanos = plain_nanos(text);
    const result<quantity> q = quantity::parse(written);
    REQUIRE(q.has_value() == !above(nanos, limit));
    if (!q) {
      REQUIRE((q.error().code == errc::out_of_range));
      ++refused;
      continue;
    }
    REQUIRE(nanos_of(*q) == (text.minus && nanos != "0" ? "-" + nanos : nanos));
    REQUIRE(value_of(*q) == plain_integer(text, 9));
    REQUIRE(milli_of(*q) == plain_integer(text, 6));
    REQUIRE((parsed(q->to_string()) == *q));
    fits += milli_of(*q) != over;
    ++accepted;
  }
  // The mix must keep reaching all three.
  CHECK(accepted > 4000);
  CHECK(refused > 200);
  CHECK(fits > 2000);
}

TEST_CASE("canonical text is a whole number with the largest suffix", "[core][quantity]") {
  dice roll{7};
  for (int i = 0; i < 3000; ++i) {
    const auto format = static_cast<quantity_format>(roll(3));
    auto nanos = static_cast<quantity::nanos_t>(roll(1'000'000) + 1);
    // Binary stays below its cap.
    for (std::uint64_t tens = roll(format == bin ? 12 : 22); tens > 0; --tens) nanos *= 10;
    for (std::uint64_t twos = roll(30); twos > 0; --twos) nanos *= 2;
    const quantity q = quantity::from_nanos(roll(2) == 0 ? nanos : -nanos, format);
    const std::string text = q.to_string();
    CAPTURE(text, static_cast<int>(format));
    REQUIRE((parsed(text) == q));
    REQUIRE(text.find('.') == text.npos);

    const std::string digits = text.substr(text[0] == '-', text.find_first_not_of("-0123456789") - (text[0] == '-'));
    const std::string suffix = text.substr(digits.size() + (text[0] == '-'));
    REQUIRE(digits[0] != '0');
    const bool thousands = digits.size() > 3 && digits.substr(digits.size() - 3) == "000";
    const bool binary = format == bin && nanos % 1'000'000'000 == 0 && nanos >= quantity::nanos_t{1024} * 1'000'000'000;
    if (binary) {
      REQUIRE((suffix.empty() || suffix.back() == 'i'));
      REQUIRE((suffix == "Ei" || std::stoll(digits) % 1024 != 0));
    } else if (format == sci) {
      REQUIRE((suffix.empty() || suffix[0] == 'e'));
      REQUIRE_FALSE(thousands);
    } else {
      REQUIRE(suffix.size() <= 1);
      REQUIRE((suffix == "E" || !thousands));
    }
  }
}

TEST_CASE("sums are exact and are rounded once", "[core][quantity]") {
  CHECK(milli_of(parsed("500u") + parsed("500u")) == "1");
  CHECK(value_of(parsed("0.1") + parsed("0.2") + parsed("0.7")) == "1");
  CHECK(value_of(parsed("1Gi") + parsed("-1G")) == "73741824");
  quantity sum;
  for (int i = 0; i < 1000; ++i) sum += parsed("1n");
  CHECK(sum.to_string() == "1u");
  CHECK(value_of(parsed("8Ei") + parsed("1")) == over);
  CHECK(value_of(parsed("8Ei") + parsed("8Ei") + parsed("-8Ei")) == "9223372036854775807");
}

TEST_CASE("a sum keeps the format of its first part that is not zero", "[core][quantity]") {
  CHECK((quantity{} + parsed("1Gi")).to_string() == "1Gi");
  CHECK((parsed("1Gi") + parsed("1024")).to_string() == "1048577Ki");
  CHECK((parsed("1024") + parsed("1Ki")).to_string() == "2048");
  CHECK((parsed("0Ki") + parsed("1e3")).to_string() == "1e3");
}

TEST_CASE("a sum beyond the limits stays at the limit and reports overflow", "[core][quantity]") {
  const quantity most = parsed("170141183460469231731687303715.884105727");
  CHECK((most + parsed("1n") == most));
  CHECK((most + most + most == most));
  const quantity least = parsed("-170141183460469231731687303715.884105727");
  CHECK((least + least == least));
  CHECK(value_of(least + least) == over);
  CHECK(nanos_of(most + least) == "0");
}

TEST_CASE("quantities compare by amount, not by spelling", "[core][quantity]") {
  CHECK((parsed("1Ki") == parsed("1024")));
  CHECK((parsed("1e3") == parsed("1k")));
  CHECK((parsed("999999999n") < parsed("1")));
  CHECK((parsed("-1") < parsed("-1m")));
  CHECK((parsed("1Mi") > parsed("1M")));
  CHECK_FALSE((parsed("1") != parsed("1.000")));
}

TEST_CASE("quantities are made from units, thousandths and billionths", "[core][quantity]") {
  CHECK((quantity{64} == parsed("64")));
  CHECK((quantity{INT64_MIN} == parsed("-9223372036854775808")));
  CHECK((quantity::from_milli(1500) == parsed("1.5")));
  CHECK((quantity::from_milli(INT64_MAX) == parsed("9223372036854775807m")));
  CHECK((quantity::from_nanos(7) == parsed("7n")));
  CHECK(quantity{}.to_string() == "0");
  CHECK_FALSE(quantity{}.negative());
  CHECK(quantity{-1}.negative());
  CHECK(quantity::from_nanos(quantity::nanos_t{2048} * 1'000'000'000, bin).to_string() == "2Ki");
  const auto lowest = -static_cast<quantity::nanos_t>(detail::quantity_limit) - 1;
  CHECK(quantity::from_nanos(lowest).to_string() == "-170141183460469231731687303715884105728n");
  CHECK(value_of(quantity::from_nanos(lowest)) == over);
}

TEST_CASE("an overflow error names the quantity", "[core][quantity]") {
  const quantity q = parsed("10E");
  CHECK((q.value().error().code == errc::overflow));
  CHECK(q.value().error().message() == "quantity: 10E: does not fit into 64 bits");
  CHECK((q.milli_value().error().code == errc::overflow));
  std::int64_t untouched = 5;
  CHECK_FALSE(q.value(untouched));
  CHECK_FALSE(q.milli_value(untouched));
  CHECK(untouched == 5);
}

TEST_CASE("a literal is a constant with the amount and the format of its text", "[core][quantity]") {
  STATIC_REQUIRE("1Gi"_q == quantity{1'073'741'824});
  STATIC_REQUIRE("1Gi"_q.format() == bin);
  STATIC_REQUIRE("1500m"_q == quantity::from_milli(1500));
  STATIC_REQUIRE("-0.5"_q == quantity::from_milli(-500));
  STATIC_REQUIRE("12e6"_q.format() == sci);
  STATIC_REQUIRE("0.1n"_q == quantity::from_nanos(1));
  STATIC_REQUIRE("8Ei"_q == quantity{INT64_MAX});
  STATIC_REQUIRE("1"_q + "1Ki"_q == quantity{1025});
  constexpr quantity memory = "1.5Gi"_q;
  CHECK((memory == parsed("1.5Gi")));
  CHECK(memory.to_string() == "1536Mi");
}

}  // namespace gangsched::testing::quantity_test
