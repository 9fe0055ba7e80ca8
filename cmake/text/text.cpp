// fmt's functions, compiled once. Header-only they are compiled again in every file, which doubles the time of
// a build; the shared libfmt of a distribution may not be needed by libmpi_abi.so; a static one is rarely there.
#include <fmt/format-inl.h>

// Templates that fmt declares only, so that nobody else makes them.
FMT_BEGIN_NAMESPACE
namespace detail {
template FMT_API auto dragonbox::to_decimal(float value) noexcept -> dragonbox::decimal_fp<float>;
template FMT_API auto dragonbox::to_decimal(double value) noexcept -> dragonbox::decimal_fp<double>;
template FMT_API auto locale_ref::get<std::locale>() const -> std::locale;
template FMT_API auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;
template FMT_API void buffer<char>::append(const char* begin, const char* end);
#if FMT_VERSION >= 100000
template FMT_API void vformat_to(buffer<char>& to, string_view format, vformat_args<char>::type arguments,
                                 locale_ref locale);
#endif
}  // namespace detail
FMT_END_NAMESPACE
