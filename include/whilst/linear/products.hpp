#pragma once

/// @file
/// The steps that methods are made of: a product A x with what is made of it, and an update with the preconditioner.
/// Both record whatever the operator and the preconditioner need around them, so that a method cannot forget it.

#include <type_traits>
#include <utility>

#include "whilst/basics/host_device.hpp"
#include "whilst/basics/index_type.hpp"
#include "whilst/basics/teams.hpp"
#include "whilst/engine/steps/step.hpp"
#include "whilst/linear/operators.hpp"
#include "whilst/linear/preconditioners.hpp"

namespace whilst {

class recorder;

/// What becomes of a product y = A x: a functor `use` with
///
///   read(i)                the entries of other vectors that it needs
///   operator()(e, Ax)      their sums, if any, given what read returned and entry i of A x; or (e, Ax, xi), with
///                          entry i of x, too: a second address of it takes registers that a long row needs
///   stored(e, Ax)          optional: what y_i receives instead of entry i of A x
///   bytes(n)               optional: what read reads besides x
///   blocks_wanted          optional: see step_kernel.hpp
namespace detail {

template <class Use, class Entries, class T>
WHILST_HD T stored_by([[maybe_unused]] const Use& use, [[maybe_unused]] const Entries& e, T Ax) {
  if constexpr (requires { use.stored(e, Ax); }) {
    return use.stored(e, Ax);
  } else {
    return Ax;
  }
}
/// Entry i of x, for a use that takes it.
template <class Use, class Entries, class T>
concept uses_x = requires(const Use& use, const Entries& e, T value) {
  use(e, value, value);
};
template <class Use, class Entries, class T>
WHILST_HD T entry_of_x([[maybe_unused]] index_type i, [[maybe_unused]] const T* x) {
  if constexpr (uses_x<Use, Entries, T>) {
    return x[i];
  } else {
    return 0;
  }
}
template <class Use, class Entries, class T>
WHILST_HD auto call_use(const Use& use, const Entries& e, T Ax, [[maybe_unused]] T xi) {
  if constexpr (uses_x<Use, Entries, T>) {
    return use(e, Ax, xi);
  } else {
    return use(e, Ax);
  }
}
/// A vector for a product, where the team says what it is that other threads write.
template <class Team, class X>
WHILST_HD auto gathered_by([[maybe_unused]] const Team& team, const X& x) {
  if constexpr (requires { team.gathered(x); }) {
    return team.gathered(x);
  } else {
    return x;
  }
}
template <class Use>
struct blocks_of {};
template <class Use>
requires requires { Use::blocks_wanted; }
struct blocks_of<Use> {
  static constexpr int blocks_wanted = Use::blocks_wanted;
};
template <class Use>
concept says_what_it_reads = requires(const Use& use) {
  use.bytes(index_type{});
};

/// The product row by row, in the same kernel as what is made of it. X: an address, or what converts to one when the
/// step runs.
template <class T, class Operator, class X, class Use>
struct product_by_rows : blocks_of<Use> {
  static constexpr bool fetches_constants = fetches_only_constants<Operator>();
  Operator A;
  X x;
  T* y;
  Use use;

  product_by_rows() = default;
  WHILST_HD product_by_rows(const Operator& A, const X& x, T* y, const Use& use) : A(A), x(x), y(y), use(use) {}

  using use_entries = decltype(std::declval<const Use&>().read(index_type{}));
  struct entries {
    use_entries others;
    T xi, Ax;
  };
  WHILST_HD int lanes_wanted() const { return A.lanes_wanted(); }
  template <class Team>
  WHILST_HD auto fetch(index_type i, const Team& team) const {
    return fetch_row(A, i, team);
  }
  template <class Team, class Row>
  WHILST_HD entries read(index_type i, const Team& team, const Row& row) const {
    const T* const from = x;
    return {use.read(i), entry_of_x<Use, use_entries>(i, from), row_times(row, A, i, gathered_by(team, from), team)};
  }
  template <class Team>
  WHILST_HD auto operator()(index_type i, const Team& team, const entries& e) const {
    if (team.rank() == 0) y[i] = stored_by(use, e.others, e.Ax);
    return call_use(use, e.others, e.Ax, e.xi);
  }
  index_type bytes(index_type n) const requires(says_bytes<Operator>&& says_what_it_reads<Use>) {
    return A.bytes() + use.bytes(n) + 2 * n * static_cast<index_type>(sizeof(T));
  }
};

/// What is made of a product that y holds, but for the operator's factor, if there is one.
template <class T, class Use>
struct use_of_product : blocks_of<Use> {
  const T* x;
  T* y;
  const double* factor;
  Use use;

  use_of_product() = default;
  WHILST_HD use_of_product(const T* x, T* y, const double* factor, const Use& use)
      : x(x), y(y), factor(factor), use(use) {}

  using use_entries = decltype(std::declval<const Use&>().read(index_type{}));
  struct entries {
    use_entries others;
    T xi, Ax;
  };
  WHILST_HD entries read(index_type i) const {
    const T Ax = y[i];
    return {use.read(i), entry_of_x<Use, use_entries>(i, x),
            factor ? static_cast<T>(*factor * static_cast<double>(Ax)) : Ax};
  }
  WHILST_HD auto operator()(index_type i, const entries& e) const {
    constexpr bool stores_another = requires { use.stored(e.others, e.Ax); };
    if (stores_another || factor) y[i] = stored_by(use, e.others, e.Ax);
    return call_use(use, e.others, e.Ax, e.xi);
  }
  index_type bytes(index_type n) const requires says_what_it_reads<Use> {
    constexpr bool stores_another = requires(const entries& e) { use.stored(e.others, e.Ax); };
    return use.bytes(n) + (stores_another || factor ? 2 : 1) * n * static_cast<index_type>(sizeof(T));
  }
};

/// The product row by row, for a use that writes what it makes of it itself. X: an address, or two_vectors for two
/// products.
template <class X, class Operator, class Use>
struct made_by_rows : blocks_of<Use> {
  static constexpr bool fetches_constants = fetches_only_constants<Operator>();
  Operator A;
  X x;
  Use use;

  made_by_rows() = default;
  WHILST_HD made_by_rows(const Operator& A, const X& x, const Use& use) : A(A), x(x), use(use) {}

  struct entries {
    decltype(std::declval<const Use&>().read(index_type{})) others;
    std::remove_cvref_t<decltype(std::declval<const X&>()[0])> Ax;
  };
  WHILST_HD int lanes_wanted() const { return A.lanes_wanted(); }
  template <class Team>
  WHILST_HD auto fetch(index_type i, const Team& team) const {
    return fetch_row(A, i, team);
  }
  template <class Team, class Row>
  WHILST_HD entries read(index_type i, const Team& team, const Row& row) const {
    return {use.read(i), row_times(row, A, i, gathered_by(team, x), team)};
  }
  /// Where `use` keeps what it is handed among what it reads: see keeps_handed.
  template <class Handed>
  WHILST_HD void fill_in(entries& e, const Handed& handed) const {
    e.others.handed = handed;
  }
  template <class Team>
  WHILST_HD auto operator()(index_type i, const Team& team, const entries& e) const {
    using made_by_use = decltype(use(i, e.others, e.Ax));
    if constexpr (std::is_void_v<made_by_use>) {
      if (team.rank() == 0) use(i, e.others, e.Ax);
    } else {
      made_by_use made{};
      if (team.rank() == 0) made = use(i, e.others, e.Ax);
      return made;
    }
  }
  index_type bytes(index_type n) const requires(says_bytes<Operator>&& says_what_it_reads<Use>) {
    return A.bytes() + use.bytes(n);
  }
};
/// The same of what is in memory.
template <class X, class Use>
struct made_of_products : blocks_of<Use> {
  X Ax;
  Use use;

  made_of_products() = default;
  WHILST_HD made_of_products(const X& Ax, const Use& use) : Ax(Ax), use(use) {}
  WHILST_HD auto operator()(index_type i) const { return use(i, use.read(i), Ax[i]); }
  index_type bytes(index_type n) const requires says_what_it_reads<Use> {
    return use.bytes(n) + n * static_cast<index_type>(sizeof(Ax[0]));
  }
};

/// Where a map writes r rounded, if M begins with that.
template <class Preconditioner>
struct rounded_residual_of {
  rounded_residual_of() = default;
  WHILST_HD explicit rounded_residual_of(const Preconditioner&) {}
};
template <class Preconditioner>
requires(!Preconditioner::pointwise) struct rounded_residual_of<Preconditioner> {
  float* rounded = nullptr;

  rounded_residual_of() = default;
  WHILST_HD explicit rounded_residual_of(const Preconditioner& M) : rounded(M.rounded_residual()) {}
};

/// Where a step of its own makes u = M r, after the map's: so that nobody takes it for what the map's step makes, and
/// sends its entries to other ranks.
template <class T>
struct made_apart {
  T* at;
};

/// A map that returns the entry r_i it has made, and what it takes to make u = M r of it. See preconditioned().
template <class T, class Preconditioner, class Map>
struct map_and_preconditioner : Map, rounded_residual_of<Preconditioner> {
  Preconditioner M;
  const T* r;
  std::conditional_t<Preconditioner::pointwise, T*, made_apart<T>> u;

  map_and_preconditioner() = default;
  WHILST_HD map_and_preconditioner(const Preconditioner& M, const Map& map, const T* r, T* u)
      : Map(map), rounded_residual_of<Preconditioner>(M), M(M), r(r), u{u} {}

  index_type bytes(index_type n) const requires(says_own_bytes<Preconditioner>&& says_what_it_reads<Map>) {
    index_type written = 0;  // of an entry
    if constexpr (!Preconditioner::pointwise) {
      if (this->rounded) written = sizeof(float);
    } else if constexpr (!Preconditioner::is_identity) {
      written = sizeof(T);
    }
    return Map::bytes(n) + bytes_of(M, n) + written * n;
  }
  /// What M needs a step or call of its own for.
  template <class Run>
  WHILST_HD void record_apart([[maybe_unused]] Run& run, [[maybe_unused]] index_type n) const {
    if constexpr (!Preconditioner::pointwise) M.record_after_rounding(run, r, u.at);
  }
};
/// What a preconditioner fetches.
template <class Preconditioner>
using fetched_of = decltype(std::declval<const Preconditioner&>().fetch(index_type{}, std::declval<const lanes&>()));
template <class Preconditioner>
concept fetches = requires {
  typename fetched_of<Preconditioner>;
};
/// Whether both the map and M fetch, so that neither waits for the other.
template <class Preconditioner, class Map>
concept fetches_with = fetches<Preconditioner> && requires(const Map& map, const lanes& team) {
  map.read(index_type{}, team, map.fetch(index_type{}, team));
  requires !Map::fetches_constants;  // M's prepare is a step of the program
};

/// The map, followed by u_i = M(i, r_i) where M is pointwise, or by rounding r_i where M asks for that.
template <class T, class Preconditioner, class Map>
struct preconditioned_map : map_and_preconditioner<T, Preconditioner, Map> {
  using map_and_preconditioner<T, Preconditioner, Map>::map_and_preconditioner;

  template <class... Entries>
  requires std::is_invocable_v<const Map&, index_type, const Entries&...> WHILST_HD void operator()(
      index_type i, const Entries&... entries) const {
    [[maybe_unused]] const T ri = Map::operator()(i, entries...);
    if constexpr (!Preconditioner::pointwise) {
      if (this->rounded) this->rounded[i] = static_cast<float>(ri);
    } else if constexpr (!Preconditioner::is_identity) {
      this->u[i] = this->M(i, ri);
    }
  }
};
template <class T, class Preconditioner, class Map>
requires fetches_with<Preconditioner, Map>
struct preconditioned_map<T, Preconditioner, Map> : map_and_preconditioner<T, Preconditioner, Map> {
  using map_and_preconditioner<T, Preconditioner, Map>::map_and_preconditioner;

  template <class OfMap>
  struct with_fetched {
    OfMap of_map;
    fetched_of<Preconditioner> of_M;
  };
  template <class Team>
  WHILST_HD auto fetch(index_type i, const Team& team) const {
    return with_fetched<decltype(Map::fetch(i, team))>{Map::fetch(i, team), this->M.fetch(i, team)};
  }
  template <class Team, class OfMap>
  WHILST_HD auto read(index_type i, const Team& team, const with_fetched<OfMap>& e) const {
    return with_fetched<decltype(Map::read(i, team, e.of_map))>{Map::read(i, team, e.of_map), e.of_M};
  }
  template <class OfMap, class... Told>
  requires std::is_invocable_v<const Map&, index_type, const OfMap&, const Told&...> WHILST_HD void operator()(
      index_type i, const with_fetched<OfMap>& e, const Told&... told) const {
    this->u[i] = this->M(e.of_M, Map::operator()(i, e.of_map, told...));
  }
};
template <class Run, class Part>
WHILST_HD void record_apart([[maybe_unused]] Run& run, [[maybe_unused]] index_type n,
                            [[maybe_unused]] const Part& part) {
  if constexpr (requires { part.record_apart(run, n); }) part.record_apart(run, n);
}

}  // namespace detail

/// Nothing but y = A x.
struct product_alone {
  struct nothing {};
  WHILST_HD nothing read(index_type) const { return {}; }
  template <class T>
  WHILST_HD void operator()(const nothing&, T) const {}
  index_type bytes(index_type) const { return 0; }
};

/// A map that makes the entries of r, and returns them, together with u = M r: part of the same step if M is pointwise,
/// otherwise recorded after it. For update() and product().
template <class T, class Preconditioner, class Map>
WHILST_HD auto preconditioned(const Preconditioner& M, const Map& map, const T* r, T* u) {
  if constexpr (detail::fetches<Preconditioner>) {
    using fetched = detail::fetched_of<Preconditioner>;
    static_assert(std::is_class_v<fetched> && std::is_invocable_r_v<T, const Preconditioner&, const fetched&, T>,
                  "a preconditioner's `fetch` returns a struct of its own, and M(that, r) is M(i, r)");
  }
  return detail::preconditioned_map<T, Preconditioner, Map>(M, map, r, u);
}

/// Records run.step(name, n, rest...), and after it what a preconditioned map needs apart.
template <class Run, class... Rest>
WHILST_HD void update(Run& run, const char* name, index_type n, const Rest&... rest) {
  run.step(name, n, rest...);
  (detail::record_apart(run, n, rest), ...);
}

/// Records y = A x alone, without the operator's factor, if it has one: whoever reads y puts that in.
template <class Run, class Operator, class T>
WHILST_HD void product_without_factor(Run& run, const char* name, const Operator& A, const T* x, T* y) {
  if constexpr (has_rows<Operator>) {
    product(run, name, without_factor(A), x, y, product_alone());
  } else {
    without_factor(A).apply(run, x, y);
  }
}

/// Records y = A x with what `use` makes of it; then, as run.step does, the finish, and perhaps a sequel. One kernel
/// where A has rows, otherwise A's own steps and one that reads their result.
template <class Run, class Operator, class X, class T, class Use, class... Rest>
WHILST_HD void product(Run& run, const char* name, const Operator& A, const X& x, T* y, const Use& use,
                       const Rest&... rest) {
  if constexpr (has_rows<Operator>) {
    const auto rows = rows_for(run, A, x);
    run.step(name, A.rows(), detail::product_by_rows<T, std::remove_const_t<decltype(rows)>, X, Use>(rows, x, y, use),
             rest...);
  } else {
    without_factor(A).apply(run, x, y);
    run.step(name, A.rows(), detail::use_of_product<T, Use>(x, y, factor_of(A), use), rest...);
  }
  (detail::record_apart(run, A.rows(), rest), ...);
}

/// Whether product_of_two() can take this operator.
template <class T, class Operator>
inline constexpr bool multiplies_two_at_once =
    has_rows<Operator> && !requires(const Operator& A, recorder& run, const T* x) {
  A.before_apply(run, x);
};

/// Whether a runner records for a group: see group_recorder.
template <class Run>
inline constexpr bool in_rounds = requires(const Run& run) {
  run.ranks();
};

/// Records what `use` makes of A x, without the operator's factor, if it has one; and the finish. `use` has read(i),
/// and operator()(i, e, Ax), which writes what it likes at index i and returns the sums, or nothing, given what read
/// returned. So it may overwrite what it reads. One kernel where A has rows; otherwise `scratch` takes A x.
template <class Run, class Operator, class T, class Use, class... Rest>
WHILST_HD void make_from_product(Run& run, const char* name, const Operator& A, const T* x, [[maybe_unused]] T* scratch,
                                 const Use& use, const Rest&... rest) {
  if constexpr (has_rows<Operator>) {
    const auto rows = rows_for(run, without_factor(A), x);
    run.step(name, A.rows(), detail::made_by_rows<const T*, std::remove_const_t<decltype(rows)>, Use>(rows, x, use),
             rest...);
  } else {
    without_factor(A).apply(run, x, scratch);
    run.step(name, A.rows(), detail::made_of_products<const T*, Use>(scratch, use), rest...);
  }
}
/// The same of A x1 and A x2, as a two<T>, in one kernel, which reads A once for both. For an operator that
/// multiplies_two_at_once.
template <class Run, class Operator, class T, class Use, class Finish>
WHILST_HD void product_of_two(Run& run, const char* name, const Operator& A, const T* x1, const T* x2, const Use& use,
                              const Finish& finish) {
  const auto& rows = without_factor(A);
  run.step(name, A.rows(),
           detail::made_by_rows<two_vectors<T>, std::remove_cvref_t<decltype(rows)>, Use>(rows, {x1, x2}, use), finish);
}
/// The same on ranks of a group, of vectors whose entries an earlier step has sent, for an operator that exchanges_two:
/// `use` gives sums, and makes two vectors, `made`, whose entries are sent; before it the finish runs of the sums that
/// were given last. See group_recorder::take_and_give.
template <class Run, class Operator, class T, class Finish, class Use>
void product_of_two_between_rounds(Run& run, const char* name, const Operator& A, const T* x1, const T* x2,
                                   const Finish& finish, const Use& use, const two_vectors<T>& made) {
  const auto& whole = without_factor(A);
  const auto rows = whole.rows_of_two(run);
  run.take_and_give(name, A.rows(), finish,
                    detail::made_by_rows<two_vectors<T>, std::remove_const_t<decltype(rows)>, Use>(rows, {x1, x2}, use),
                    whole.sends_of_two(made), [&](Run& apart) { whole.send_two(apart, made); });
}
/// The same of products that are in memory.
template <class Run, class T, class Use, class Finish>
WHILST_HD void use_products(Run& run, const char* name, index_type n, const T* Ax1, const T* Ax2, const Use& use,
                            const Finish& finish) {
  run.step(name, n, detail::made_of_products<two_vectors<T>, Use>({Ax1, Ax2}, use), finish);
}

}  // namespace whilst
