#include "wait/experience.h"

#include "ledger/accounts.h"
#include "rank/rank.h"

namespace meantime::wait {

Site& Experience::here(Rank& rank) {
  const void* address = rank.call_site.load(std::memory_order_relaxed);
  const std::uint16_t call = rank.call.load(std::memory_order_relaxed);
  if (latest_ == nullptr || latest_->address != address || latest_->call != call) {
    latest_ = &find(rank, address, call);
  }
  return *latest_;
}

std::size_t Experience::place_of(const void* address, std::uint16_t call) const {
  const std::size_t mask = table_.size() - 1;
  std::uint64_t key = reinterpret_cast<std::uint64_t>(address) ^ std::uint64_t{call} << 48;
  key *= 0x9e3779b97f4a7c15u;  // Fibonacci hashing: the upper bits are the good ones
  std::size_t place = (key >> 32) & mask;
  while (table_[place] != nullptr &&
         (table_[place]->address != address || table_[place]->call != call)) {
    place = (place + 1) & mask;
  }
  return place;
}

Site& Experience::find(Rank& rank, const void* address, std::uint16_t call) {
  if (2 * (count_ + 1) > table_.size()) {
    grow();
  }
  std::unique_ptr<Site>& place = table_[place_of(address, call)];
  if (place == nullptr) {
    place = std::make_unique<Site>();
    place->address = address;
    place->call = call;
    place->patience_ns = policy().first_patience();
    place->account = ledger::open_account(*rank.area, address, call);
    ++count_;
  }
  return *place;
}

void Experience::grow() {
  std::vector<std::unique_ptr<Site>> old(table_.empty() ? 16 : 2 * table_.size());
  old.swap(table_);
  for (std::unique_ptr<Site>& site : old) {
    if (site != nullptr) {
      table_[place_of(site->address, site->call)] = std::move(site);
    }
  }
}

namespace {

Plan predicted(const Policy& policy, const Site& site, const Lateness& lateness, bool takes_turns) {
  // Who polls holds up the one that he waits for. A thread rank does not, and where experience only
  // says how long to poll it leaves that to its worker, which polls when all its ranks wait.
  if (policy.crowded && (!takes_turns || policy.prediction == Prediction::patience)) {
    return {};
  }
  switch (policy.prediction) {
    case Prediction::none:
      break;
    case Prediction::patience:
      return {.poll_until_ns = site.patience_ns};
    case Prediction::timer:
      return site.predictor.plan(lateness, policy.first_patience(), policy.wake_up_ns);
    case Prediction::ade:
      return site.ade.plan(policy.first_patience());
  }
  return {};
}

}  // namespace

Plan plan_of(const Policy& policy, const Site& site, const Lateness& lateness, bool takes_turns) {
  Plan plan = predicted(policy, site, lateness, takes_turns);
  plan.waits_are_long = Policy::waits_are_long(site.patience_ns);
  return plan;
}

namespace {

void tell_the_ledger(const Policy& policy, const Site& site, const Plan& plan,
                     const Outcome& outcome) {
  ledger::SiteAccount* account = site.account;
  if (account == nullptr || outcome.woke_ns == 0) {
    return;
  }
  ledger::add(account->predictions, std::uint64_t{1});
  ledger::add(account->late, std::uint64_t{outcome.signalled && !outcome.in_vain});
  ledger::add(account->vain, std::uint64_t{outcome.in_vain});
  // ADE has no other guess than its sleep. (Nothing is sorted here: the program waits for it.)
  const std::uint64_t expected =
      policy.prediction == Prediction::timer ? plan.expected_ns : plan.sleep_until_ns;
  const std::uint64_t waited = outcome.waited_ns;
  ledger::add(account->error_ns, waited > expected ? waited - expected : expected - waited);
}

}  // namespace

void learn(const Policy& policy, Site& site, const Plan& plan, const Outcome& outcome) {
  tell_the_ledger(policy, site, plan, outcome);
  site.last_wait_ns = outcome.waited_ns;
  site.patience_ns = policy.patience_after(outcome.longest_lull_ns, site.patience_ns);
  switch (policy.prediction) {
    case Prediction::timer:
      site.predictor.learn(outcome);
      break;
    case Prediction::ade:
      site.ade.learn(outcome, policy.ade_step_ns, policy.ade_threshold_ns);
      break;
    default:
      break;
  }
}

}  // namespace meantime::wait
