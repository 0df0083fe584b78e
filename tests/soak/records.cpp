#include <span>

#include "gangsched/record/replayer.hpp"
#include "host.hpp"

/// Decision logs: what was recorded is made again, and the same has to come of it. A log that was cut off or damaged is read as far as it
/// goes.
namespace gangsched::soak {

std::optional<record::recorder> host::start_record(cluster& on) const {
  if (on_.broken_hooks || on_.seed % 4 != 1) return std::nullopt;  // (when a hook throws is no call of a host's)
  called<"cluster::listen">();
  return must(record::recorder::start(on, {.digest_every = 1 + static_cast<std::uint32_t>(on_.seed % 64)}), "start");
}

void host::check_record() {
  if (!record_) return;
  if (const auto why = record_->ended()) wrong("a recording ended", why->message());
  must(record_->write_digest(), "write_digest");
  std::vector<std::byte> log = record_->take();
  const auto tables = [this](std::uint32_t) { return make_tables(on_, std::make_shared<host_rules>()); };
  record::replayer again =
      must(record::replayer::open(log, {.profiles = tables, .matcher = on_.cluster.device_matcher}), "open of a log");
  if (const auto parted = must(again.run(), "run of a log"))
    wrong("a replay decides otherwise", "call " + std::to_string(parted->call.number) + ", " + parted->text + ": " +
                                            parted->here + ", not " + parted->recorded);
  if (again.calls() != record_->calls()) wrong("a replay makes fewer calls");
  if (again.cluster().digest() != cluster_.digest()) wrong("a replay leads to another cluster");
  // Whatever becomes of the bytes: each call that is read is one of the log's.
  dice any{mix64(on_.seed + log.size())};
  if (any.percent(50))
    log.resize(any.below(log.size()));
  else
    log[any.below(log.size())] ^= static_cast<std::byte>(1 + any.below(255));
  auto damaged = record::log_reader::open(log);
  std::uint64_t last = 0;
  while (damaged) {
    const auto next = damaged->next();
    if (!next || !*next) break;
    last = (*next)->number;
  }
  if (last > record_->calls()) wrong("a damaged log has more calls");
}

}  // namespace gangsched::soak
