#include <fmt/format.h>

#include "conformance/kueue_setup.hpp"

// kueue-quota, kueue-upstream-share: quota arithmetic and dominant resource shares at rest.
namespace gangsched::conformance {
namespace {

using namespace queues::kueue;

void compare_probe(const quota_ledger& ledger, const kube::value& probe, const std::string& where,
                   const std::string& file, tally& into) {
  const configuration& of = ledger.of();
  const auto queue = kueue_queue(of, field(probe, "queue", file), file);
  const fr_index what = of.find_fr(of.find_flavor(text_field(probe, "flavor", file)),
                                   of.find_resource(text_field(probe, "resource", file)));
  const std::int64_t amount = whole_field(probe, "amount", file);
  const auto subtree = ledger.lowest_that_fits(queue, what, amount);
  const std::string got =
      fmt::format("available {} potential {} borrowing {} fits {} height {} lower {}", ledger.room(queue, what),
                  ledger.potential(queue, what), ledger.borrows_with(queue, what, amount),
                  amount <= ledger.room(queue, what), subtree.height, subtree.below_root);
  const std::string recorded = fmt::format("available {} potential {} borrowing {} fits {} height {} lower {}",
                                           whole_field(probe, "available", file), whole_field(probe, "potential", file),
                                           is_true(probe, "borrowing"), is_true(probe, "fits"),
                                           whole_field(probe, "height", file), is_true(probe, "lower"));
  into.compare("probes", got == recorded, [&] {
    return difference{where + " " + to_json(probe), "probe", "", recorded, got};
  });
}

}  // namespace

void run_kueue_quota_case(const kube::value& recorded, const std::string& file, tally& into) {
  const std::string& name = text_field(recorded, "name", file);
  const configuration of = must(configuration::make(read_kueue_setup(recorded, file)));
  quota_ledger ledger{of};
  for (const kube::value& one : field(recorded, "workloads", file).items)
    if (const kube::value* admission = one.find("admission"))
      ledger.add(kueue_queue(of, field(*admission, "queue", file), file), admitted_kueue_usage(of, *admission, file));

  if (const kube::value* probes = recorded.find("probes"))
    for (const kube::value& probe : probes->items) compare_probe(ledger, probe, name, file, into);
  compare_kueue_shares(ledger, recorded, "shares", name, file, into);
  if (const kube::value* simulated = recorded.find("simulated")) {
    for (const kube::value& one : simulated->items) {
      auto node = kueue_queue(of, field(one, "queue", file), file);
      const quota_ledger::trial trial{ledger};
      ledger.add(node, read_kueue_usage(of, field(one, "usage", file), file));
      for (const kube::value& step : field(one, "path", file).items) {
        if (of.name(node) != text_field(step, "node", file)) refuse(file, step, "is not the next node above");
        compare_kueue_share(of, step, ledger.share(node), "shares", name + " with more", file, into);
        node = of.tree().parent(node);
      }
    }
    compare_kueue_shares(ledger, recorded, "shares", name + " after trials", file, into);
  }
}

}  // namespace gangsched::conformance
