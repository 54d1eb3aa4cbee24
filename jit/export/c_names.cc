// Tables: the words that no name in an exported header may be.
#include "jit/export/c_names.h"

#include <algorithm>
#include <cctype>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "runtime/text.h"

namespace ct::jit {
namespace {

// Of C23 and C++20.
constexpr std::string_view kKeywords =
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class "
    "co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype "
    "default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int "
    "long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register "
    "reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct switch "
    "template this thread_local throw true try typedef typeid typename typeof typeof_unqual union unsigned using "
    "virtual void volatile wchar_t while xor xor_eq ";

// Of <stddef.h>, <stdint.h> and the other headers of C11.
constexpr std::string_view kTypes =
    "FILE clock_t div_t double_t fenv_t fexcept_t float_t fpos_t imaxdiv_t int16_t int32_t int64_t int8_t "
    "int_fast16_t int_fast32_t int_fast64_t int_fast8_t int_least16_t int_least32_t int_least64_t int_least8_t "
    "intmax_t intptr_t jmp_buf ldiv_t lldiv_t max_align_t mbstate_t nullptr_t once_flag ptrdiff_t sig_atomic_t size_t "
    "ssize_t thrd_t time_t tss_t uint16_t uint32_t uint64_t uint8_t uint_fast16_t uint_fast32_t uint_fast64_t "
    "uint_fast8_t uint_least16_t uint_least32_t uint_least64_t uint_least8_t uintmax_t uintptr_t va_list wctrans_t "
    "wctype_t wint_t ";

// Of the headers of POSIX systems, which those of C++ include.
constexpr std::string_view kSystemTypes =
    "blkcnt64_t blkcnt_t blksize_t caddr_t clockid_t comparison_fn_t cookie_close_function_t cookie_io_functions_t "
    "cookie_read_function_t cookie_seek_function_t cookie_write_function_t cpu_set_t daddr_t dev_t error_t fd_mask "
    "fd_set femode_t fpos64_t fpregset_t fsblkcnt64_t fsblkcnt_t fsfilcnt64_t fsfilcnt_t fsid_t gid_t greg_t "
    "gregset_t id_t ino64_t ino_t key_t locale_t loff_t mcontext_t mode_t nlink_t off64_t off_t pid_t pthread_attr_t "
    "pthread_barrier_t pthread_barrierattr_t pthread_cond_t pthread_condattr_t pthread_key_t pthread_mutex_t "
    "pthread_mutexattr_t pthread_once_t pthread_rwlock_t pthread_rwlockattr_t pthread_spinlock_t pthread_t quad_t "
    "register_t sem_t sig_t sigevent_t sighandler_t siginfo_t sigjmp_buf sigset_t sigval_t socklen_t stack_t "
    "suseconds_t timer_t u_char u_int u_int16_t u_int32_t u_int64_t u_int8_t u_long u_quad_t u_short ucontext_t uid_t "
    "uint ulong useconds_t ushort ";

// What C++ has where C functions are: namespaces, and those reserved for later standards (std and digits, too).
constexpr std::string_view kNamespaces = "abi posix std ";

// Of the headers of C11 and POSIX, and what compilers define. EDOM, SIGINT, PRId32 and their likes are known by their
// form.
constexpr std::string_view kMacros =
    "AF_DECnet ATOMIC_BOOL_LOCK_FREE ATOMIC_CHAR16_T_LOCK_FREE ATOMIC_CHAR32_T_LOCK_FREE ATOMIC_CHAR_LOCK_FREE "
    "ATOMIC_FLAG_INIT ATOMIC_INT_LOCK_FREE ATOMIC_LLONG_LOCK_FREE ATOMIC_LONG_LOCK_FREE ATOMIC_POINTER_LOCK_FREE "
    "ATOMIC_SHORT_LOCK_FREE ATOMIC_VAR_INIT ATOMIC_WCHAR_T_LOCK_FREE BUFSIZ BUS_ADRALN BUS_ADRERR BUS_MCEERR_AO "
    "BUS_MCEERR_AR BUS_OBJERR CHAR_BIT CHAR_MAX CHAR_MIN CLD_CONTINUED CLD_DUMPED CLD_EXITED CLD_KILLED CLD_STOPPED "
    "CLD_TRAPPED CLOCKS_PER_SEC CMPLX CMPLXF CMPLXL DBL_DECIMAL_DIG DBL_DIG DBL_EPSILON DBL_HAS_SUBNORM DBL_MANT_DIG "
    "DBL_MAX DBL_MAX_10_EXP DBL_MAX_EXP DBL_MIN DBL_MIN_10_EXP DBL_MIN_EXP DBL_TRUE_MIN DECIMAL_DIG EIO EOF "
    "EXIT_FAILURE EXIT_SUCCESS FE_ALL_EXCEPT FE_DFL_ENV FE_DIVBYZERO FE_DOWNWARD FE_INEXACT FE_INVALID FE_OVERFLOW "
    "FE_TONEAREST FE_TOWARDZERO FE_UNDERFLOW FE_UPWARD FILENAME_MAX FLT_DECIMAL_DIG FLT_DIG FLT_EPSILON "
    "FLT_EVAL_METHOD FLT_HAS_SUBNORM FLT_MANT_DIG FLT_MAX FLT_MAX_10_EXP FLT_MAX_EXP FLT_MIN FLT_MIN_10_EXP "
    "FLT_MIN_EXP FLT_RADIX FLT_ROUNDS FLT_TRUE_MIN FOPEN_MAX FPE_CONDTRAP FPE_FLTDIV FPE_FLTINV FPE_FLTOVF FPE_FLTRES "
    "FPE_FLTSUB FPE_FLTUND FPE_FLTUNK FPE_INTDIV FPE_INTOVF FP_ILOGB0 FP_ILOGBNAN FP_INFINITE FP_INT_DOWNWARD "
    "FP_INT_TONEAREST FP_INT_TONEARESTFROMZERO FP_INT_TOWARDZERO FP_INT_UPWARD FP_NAN FP_NORMAL FP_SUBNORMAL FP_ZERO "
    "HUGE_VAL HUGE_VALF HUGE_VALL I ILL_BADIADDR ILL_BADSTK ILL_COPROC ILL_ILLADR ILL_ILLOPC ILL_ILLOPN ILL_ILLTRP "
    "ILL_PRVOPC ILL_PRVREG INFINITY INT16_C INT16_MAX INT16_MIN INT32_C INT32_MAX INT32_MIN INT64_C INT64_MAX "
    "INT64_MIN INT8_C INT8_MAX INT8_MIN INTMAX_C INTMAX_MAX INTMAX_MIN INTPTR_MAX INTPTR_MIN INT_FAST16_MAX "
    "INT_FAST16_MIN INT_FAST32_MAX INT_FAST32_MIN INT_FAST64_MAX INT_FAST64_MIN INT_FAST8_MAX INT_FAST8_MIN "
    "INT_LEAST16_MAX INT_LEAST16_MIN INT_LEAST32_MAX INT_LEAST32_MIN INT_LEAST64_MAX INT_LEAST64_MIN INT_LEAST8_MAX "
    "INT_LEAST8_MIN INT_MAX INT_MIN ITIMER_PROF ITIMER_REAL ITIMER_VIRTUAL LC_ADDRESS LC_ALL LC_COLLATE LC_CTYPE "
    "LC_IDENTIFICATION LC_MEASUREMENT LC_MESSAGES LC_MONETARY LC_NAME LC_NUMERIC LC_PAPER LC_TELEPHONE LC_TIME "
    "LDBL_DECIMAL_DIG LDBL_DIG LDBL_EPSILON LDBL_HAS_SUBNORM LDBL_MANT_DIG LDBL_MAX LDBL_MAX_10_EXP LDBL_MAX_EXP "
    "LDBL_MIN LDBL_MIN_10_EXP LDBL_MIN_EXP LDBL_TRUE_MIN LLONG_MAX LLONG_MIN LONG_MAX LONG_MIN L_ctermid L_cuserid "
    "L_tmpnam MATH_ERREXCEPT MATH_ERRNO MB_CUR_MAX MB_LEN_MAX NAN NULL ONCE_FLAG_INIT PF_DECnet POLL_ERR POLL_HUP "
    "POLL_IN POLL_MSG POLL_OUT POLL_PRI PRIX16 PRIX32 PRIX64 PRIX8 PRIXFAST16 PRIXFAST32 PRIXFAST64 PRIXFAST8 "
    "PRIXLEAST16 PRIXLEAST32 PRIXLEAST64 PRIXLEAST8 PRIXMAX PRIXPTR PTHREAD_CANCEL_ASYNCHRONOUS "
    "PTHREAD_CANCEL_DEFERRED PTHREAD_CANCEL_DISABLE PTHREAD_CANCEL_ENABLE PTHREAD_CREATE_DETACHED "
    "PTHREAD_CREATE_JOINABLE PTHREAD_EXPLICIT_SCHED PTHREAD_INHERIT_SCHED PTHREAD_MUTEX_ADAPTIVE_NP "
    "PTHREAD_MUTEX_DEFAULT PTHREAD_MUTEX_ERRORCHECK PTHREAD_MUTEX_ERRORCHECK_NP PTHREAD_MUTEX_FAST_NP "
    "PTHREAD_MUTEX_NORMAL PTHREAD_MUTEX_RECURSIVE PTHREAD_MUTEX_RECURSIVE_NP PTHREAD_MUTEX_ROBUST "
    "PTHREAD_MUTEX_ROBUST_NP PTHREAD_MUTEX_STALLED PTHREAD_MUTEX_STALLED_NP PTHREAD_MUTEX_TIMED_NP "
    "PTHREAD_PRIO_INHERIT PTHREAD_PRIO_NONE PTHREAD_PRIO_PROTECT PTHREAD_PROCESS_PRIVATE PTHREAD_PROCESS_SHARED "
    "PTHREAD_RWLOCK_DEFAULT_NP PTHREAD_RWLOCK_PREFER_READER_NP PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP "
    "PTHREAD_RWLOCK_PREFER_WRITER_NP PTHREAD_SCOPE_PROCESS PTHREAD_SCOPE_SYSTEM PTRDIFF_MAX PTRDIFF_MIN P_tmpdir "
    "RAND_MAX REG_CR2 REG_CSGSFS REG_EFL REG_ERR REG_OLDMASK REG_R10 REG_R11 REG_R12 REG_R13 REG_R14 REG_R15 REG_R8 "
    "REG_R9 REG_RAX REG_RBP REG_RBX REG_RCX REG_RDI REG_RDX REG_RIP REG_RSI REG_RSP REG_TRAPNO SA_RESTART SCHAR_MAX "
    "SCHAR_MIN SEEK_CUR SEEK_END SEEK_SET SEGV_ACCADI SEGV_ACCERR SEGV_ADIDERR SEGV_ADIPERR SEGV_BNDERR SEGV_MAPERR "
    "SEGV_MTEAERR SEGV_MTESERR SEGV_PKUERR SHRT_MAX SHRT_MIN SIGEV_NONE SIGEV_SIGNAL SIGEV_THREAD SIGEV_THREAD_ID "
    "SIG_ATOMIC_MAX SIG_ATOMIC_MIN SIG_DFL SIG_ERR SIG_IGN SIZE_MAX SI_ASYNCIO SI_ASYNCNL SI_DETHREAD SI_KERNEL "
    "SI_MESGQ SI_QUEUE SI_SIGIO SI_TIMER SI_TKILL SI_USER SS_DISABLE SS_ONSTACK TIME_UTC TMP_MAX TRAP_BRANCH "
    "TRAP_BRKPT TRAP_HWBKPT TRAP_TRACE TRAP_UNK TSS_DTOR_ITERATIONS UCHAR_MAX UINT16_C UINT16_MAX UINT32_C UINT32_MAX "
    "UINT64_C UINT64_MAX UINT8_C UINT8_MAX UINTMAX_C UINTMAX_MAX UINTPTR_MAX UINT_FAST16_MAX UINT_FAST32_MAX "
    "UINT_FAST64_MAX UINT_FAST8_MAX UINT_LEAST16_MAX UINT_LEAST32_MAX UINT_LEAST64_MAX UINT_LEAST8_MAX UINT_MAX "
    "ULLONG_MAX ULONG_MAX USHRT_MAX WCHAR_MAX WCHAR_MIN WEOF WIN32 WINT_MAX WINT_MIN alloca assert assert_perror "
    "atomic_compare_exchange_strong atomic_compare_exchange_strong_explicit atomic_compare_exchange_weak "
    "atomic_compare_exchange_weak_explicit atomic_exchange atomic_exchange_explicit atomic_fetch_add "
    "atomic_fetch_add_explicit atomic_fetch_and atomic_fetch_and_explicit atomic_fetch_or atomic_fetch_or_explicit "
    "atomic_fetch_sub atomic_fetch_sub_explicit atomic_fetch_xor atomic_fetch_xor_explicit atomic_flag_clear "
    "atomic_flag_clear_explicit atomic_flag_test_and_set atomic_flag_test_and_set_explicit atomic_init "
    "atomic_is_lock_free atomic_load atomic_load_explicit atomic_signal_fence atomic_store atomic_store_explicit "
    "atomic_thread_fence be16toh be32toh be64toh clrbit complex d_fileno dadd ddiv dfma dmul dsqrt dsub f32add f32div "
    "f32fma f32mul f32sqrt f32sub f32xadd f32xdiv f32xfma f32xmul f32xsqrt f32xsub f64add f64div f64fma f64mul f64sqrt "
    "f64sub f64xadd f64xdiv f64xfma f64xmul f64xsqrt f64xsub fpclassify h_addr h_errno howmany htobe16 htobe32 htobe64 "
    "htole16 htole32 htole64 i386 ifa_broadaddr ifa_dstaddr ifc_buf ifc_req ifr_addr ifr_bandwidth ifr_broadaddr "
    "ifr_data ifr_dstaddr ifr_flags ifr_hwaddr ifr_ifindex ifr_map ifr_metric ifr_mtu ifr_name ifr_netmask ifr_newname "
    "ifr_qlen ifr_slave isascii_l iscanonical isclr iseqsig isfinite isgreater isgreaterequal isless islessequal "
    "islessgreater isnormal isset issignaling issubnormal isunordered iszero kill_dependency le16toh le32toh le64toh "
    "linux math_errhandling msg_cbytes noreturn offsetof powerof2 pthread_cleanup_pop pthread_cleanup_pop_restore_np "
    "pthread_cleanup_push pthread_cleanup_push_defer_np roundup s6_addr s6_addr16 s6_addr32 sa_handler sa_sigaction "
    "sched_priority setbit si_addr si_addr_lsb si_arch si_band si_call_addr si_fd si_int si_lower si_overrun si_pid "
    "si_pkey si_ptr si_status si_stime si_syscall si_timerid si_uid si_upper si_utime si_value sigev_notify_attributes "
    "sigev_notify_function sigmask signbit sigsetjmp st_atime st_ctime st_mtime strdupa strndupa timeradd timerclear "
    "timercmp timerisset timersub toascii_l unix va_arg va_copy va_end va_start ";

// What a C library of POSIX systems defines for the linker; a function of such a name would take its place in the whole
// program.
constexpr std::string_view kLibrary =
    "a64l abort abs accept accept4 access acct acos acosf acosh acoshf acoshl acosl addmntent addseverity adjtime "
    "adjtimex aio_cancel aio_cancel64 aio_error aio_error64 aio_fsync aio_fsync64 aio_init aio_read aio_read64 "
    "aio_return aio_return64 aio_suspend aio_suspend64 aio_write aio_write64 alarm aligned_alloc alphasort "
    "alphasort64 arc4random arc4random_buf arc4random_uniform arch_prctl asctime asctime_r asin asinf asinh asinhf "
    "asinhl asinl asprintf atan atan2 atan2f atan2l atanf atanh atanhf atanhl atanl atexit atof atoi atol atoll "
    "backtrace backtrace_symbols backtrace_symbols_fd basename bcmp bcopy bind bind_textdomain_codeset bindresvport "
    "bindtextdomain brk bsd_signal bsearch btowc bzero c16rtomb c32rtomb c8rtomb cabs cabsf cabsl cacos cacosf cacosh "
    "cacoshf cacoshl cacosl call_once calloc canonicalize canonicalize_file_name canonicalizef canonicalizel capget "
    "capset carg cargf cargl casin casinf casinh casinhf casinhl casinl catan catanf catanh catanhf catanhl catanl "
    "catclose catgets catopen cbrt cbrtf cbrtl ccos ccosf ccosh ccoshf ccoshl ccosl ceil ceilf ceill cexp cexpf cexpl "
    "cfgetispeed cfgetospeed cfmakeraw cfsetispeed cfsetospeed cfsetspeed chdir chflags chmod chown chroot cimag "
    "cimagf cimagl clearenv clearerr clearerr_unlocked clock clock_adjtime clock_getcpuclockid clock_getres "
    "clock_gettime clock_nanosleep clock_settime clog clog10 clog10f clog10l clogf clogl clone close close_range "
    "closedir closefrom closelog cnd_broadcast cnd_destroy cnd_init cnd_signal cnd_timedwait cnd_wait confstr conj "
    "conjf conjl connect copy_file_range copysign copysignf copysignl cos cosf cosh coshf coshl cosl cpow cpowf cpowl "
    "cproj cprojf cprojl creal crealf creall creat creat64 crypt csin csinf csinh csinhf csinhl csinl csqrt csqrtf "
    "csqrtl ctan ctanf ctanh ctanhf ctanhl ctanl ctermid ctime ctime_r cuserid daddl daemon daylight dcgettext "
    "dcngettext ddivl delete_module dfmal dgettext difftime dirfd dirname div dl_iterate_phdr dladdr dladdr1 dlclose "
    "dlerror dlinfo dlmopen dlopen dlsym dlvsym dmull dn_comp dn_expand dn_skipname dngettext dprintf drand48 "
    "drand48_r drem dremf dreml dsqrtl dsubl dup dup2 dup3 duplocale dysize eaccess ecvt ecvt_r endaliasent endfsent "
    "endgrent endhostent endmntent endnetent endnetgrent endprotoent endpwent endrpcent endservent endsgent endspent "
    "endttyent endusershell endutent endutxent environ epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 "
    "epoll_wait erand48 erand48_r erf erfc erfcf erfcl erff erfl err errno error error_at_line error_message_count "
    "error_one_per_line error_print_progname errx euidaccess eventfd eventfd_read eventfd_write execl execle execlp "
    "execv execve execveat execvp execvpe exit exp exp10 exp10f exp10l exp2 exp2f exp2l expf expl explicit_bzero "
    "expm1 expm1f expm1l fabs fabsf fabsl faccessat fadd faddl fallocate fallocate64 fanotify_init fanotify_mark "
    "fchdir fchflags fchmod fchmodat fchown fchownat fclose fcloseall fcntl fcntl64 fcvt fcvt_r fdatasync fdim fdimf "
    "fdiml fdiv fdivl fdopen fdopendir feclearexcept fedisableexcept feenableexcept fegetenv fegetexcept "
    "fegetexceptflag fegetmode fegetround feholdexcept feof feof_unlocked feraiseexcept ferror ferror_unlocked "
    "fesetenv fesetexcept fesetexceptflag fesetmode fesetround fetestexcept fetestexceptflag feupdateenv fexecve "
    "fflush fflush_unlocked ffma ffmal ffs ffsl ffsll fgetc fgetc_unlocked fgetgrent fgetgrent_r fgetpos fgetpos64 "
    "fgetpwent fgetpwent_r fgets fgets_unlocked fgetsgent fgetsgent_r fgetspent fgetspent_r fgetwc fgetwc_unlocked "
    "fgetws fgetws_unlocked fgetxattr fileno fileno_unlocked finite finitef finitel flistxattr flock flockfile floor "
    "floorf floorl fma fmaf fmal fmax fmaxf fmaximum fmaximum_mag fmaximum_mag_num fmaximum_mag_numf "
    "fmaximum_mag_numl fmaximum_magf fmaximum_magl fmaximum_num fmaximum_numf fmaximum_numl fmaximumf fmaximuml fmaxl "
    "fmaxmag fmaxmagf fmaxmagl fmemopen fmin fminf fminimum fminimum_mag fminimum_mag_num fminimum_mag_numf "
    "fminimum_mag_numl fminimum_magf fminimum_magl fminimum_num fminimum_numf fminimum_numl fminimumf fminimuml fminl "
    "fminmag fminmagf fminmagl fmod fmodf fmodl fmtmsg fmul fmull fnmatch fopen fopen64 fopencookie fork forkpty "
    "fpathconf fprintf fputc fputc_unlocked fputs fputs_unlocked fputwc fputwc_unlocked fputws fputws_unlocked fread "
    "fread_unlocked free freeaddrinfo freeifaddrs freelocale fremovexattr freopen freopen64 frexp frexpf frexpl "
    "fromfp fromfpf fromfpl fromfpx fromfpxf fromfpxl fscanf fsconfig fseek fseeko fseeko64 fsetpos fsetpos64 "
    "fsetxattr fsmount fsopen fspick fsqrt fsqrtl fstat fstat64 fstatat fstatat64 fstatfs fstatfs64 fstatvfs "
    "fstatvfs64 fsub fsubl fsync ftell ftello ftello64 ftime ftok ftruncate ftruncate64 ftrylockfile fts64_children "
    "fts64_close fts64_open fts64_read fts64_set fts_children fts_close fts_open fts_read fts_set ftw ftw64 "
    "funlockfile futimens futimes futimesat fwide fwprintf fwrite fwrite_unlocked fwscanf gai_cancel gai_error "
    "gai_strerror gai_suspend gamma gammaf gammal gcvt get_avphys_pages get_current_dir_name get_nprocs "
    "get_nprocs_conf get_phys_pages getaddrinfo getaddrinfo_a getaliasbyname getaliasbyname_r getaliasent "
    "getaliasent_r getauxval getc getc_unlocked getchar getchar_unlocked getcontext getcpu getcwd getdate getdate_err "
    "getdate_r getdelim getdents64 getdirentries getdirentries64 getdomainname getdtablesize getegid getentropy "
    "getenv geteuid getfsent getfsfile getfsspec getgid getgrent getgrent_r getgrgid getgrgid_r getgrnam getgrnam_r "
    "getgrouplist getgroups gethostbyaddr gethostbyaddr_r gethostbyname gethostbyname2 gethostbyname2_r "
    "gethostbyname_r gethostent gethostent_r gethostid gethostname getifaddrs getipv4sourcefilter getitimer getline "
    "getloadavg getlogin getlogin_r getmntent getmntent_r getnameinfo getnetbyaddr getnetbyaddr_r getnetbyname "
    "getnetbyname_r getnetent getnetent_r getnetgrent getnetgrent_r getopt getopt_long getopt_long_only getpagesize "
    "getpass getpayload getpayloadf getpayloadl getpeername getpgid getpgrp getpid getppid getpriority getprotobyname "
    "getprotobyname_r getprotobynumber getprotobynumber_r getprotoent getprotoent_r getpt getpw getpwent getpwent_r "
    "getpwnam getpwnam_r getpwuid getpwuid_r getrandom getresgid getresuid getrlimit getrlimit64 getrpcbyname "
    "getrpcbyname_r getrpcbynumber getrpcbynumber_r getrpcent getrpcent_r getrusage gets getservbyname "
    "getservbyname_r getservbyport getservbyport_r getservent getservent_r getsgent getsgent_r getsgnam getsgnam_r "
    "getsid getsockname getsockopt getsourcefilter getspent getspent_r getspnam getspnam_r getsubopt gettext gettid "
    "gettimeofday getttyent getttynam getuid getusershell getutent getutent_r getutid getutid_r getutline getutline_r "
    "getutmp getutmpx getutxent getutxid getutxline getw getwc getwc_unlocked getwchar getwchar_unlocked getwd "
    "getxattr glob glob64 glob_pattern_p globfree globfree64 gmtime gmtime_r gnu_dev_major gnu_dev_makedev "
    "gnu_dev_minor gnu_get_libc_release gnu_get_libc_version grantpt group_member gsignal gtty h_errlist h_nerr "
    "hasmntopt hcreate hcreate_r hdestroy hdestroy_r herror hsearch hsearch_r hstrerror htonl htons hypot hypotf "
    "hypotl iconv iconv_close iconv_open if_freenameindex if_indextoname if_nameindex if_nametoindex ilogb ilogbf "
    "ilogbl imaxabs imaxdiv in6addr_any in6addr_loopback index init_module initgroups initstate initstate_r innetgr "
    "inotify_add_watch inotify_init inotify_init1 inotify_rm_watch insque ioctl ioperm iopl isalnum isalnum_l isalpha "
    "isalpha_l isascii isatty isblank isblank_l iscntrl iscntrl_l isctype isdigit isdigit_l isfdtype isgraph "
    "isgraph_l isinf isinff isinfl islower islower_l isnan isnanf isnanl isprint isprint_l ispunct ispunct_l isspace "
    "isspace_l isupper isupper_l iswalnum iswalnum_l iswalpha iswalpha_l iswblank iswblank_l iswcntrl iswcntrl_l "
    "iswctype iswctype_l iswdigit iswdigit_l iswgraph iswgraph_l iswlower iswlower_l iswprint iswprint_l iswpunct "
    "iswpunct_l iswspace iswspace_l iswupper iswupper_l iswxdigit iswxdigit_l isxdigit isxdigit_l j0 j0f j0l j1 j1f "
    "j1l jn jnf jnl jrand48 jrand48_r kill killpg klogctl l64a labs lchmod lchown lckpwdf lcong48 lcong48_r ldexp "
    "ldexpf ldexpl ldiv lfind lgamma lgamma_r lgammaf lgammaf_r lgammal lgammal_r lgetxattr link linkat lio_listio "
    "lio_listio64 listen listxattr llabs lldiv llistxattr llogb llogbf llogbl llrint llrintf llrintl llround llroundf "
    "llroundl localeconv localtime localtime_r lockf log log10 log10f log10l log1p log1pf log1pl log2 log2f log2l "
    "logb logbf logbl logf login login_tty logl logout logwtmp longjmp lrand48 lrand48_r lremovexattr lrint lrintf "
    "lrintl lround lroundf lroundl lsearch lseek lseek64 lsetxattr lstat lstat64 lutimes madvise main makecontext "
    "mallinfo mallinfo2 malloc malloc_info malloc_stats malloc_trim malloc_usable_size mallopt mblen mbrlen mbrtoc16 "
    "mbrtoc32 mbrtoc8 mbrtowc mbsinit mbsnrtowcs mbsrtowcs mbstowcs mbtowc mcount memalign memccpy memchr memcmp "
    "memcpy memfd_create memfrob memmem memmove mempcpy memrchr memset mincore mkdir mkdirat mkdtemp mkfifo mkfifoat "
    "mknod mknodat mkostemp mkostemp64 mkostemps mkostemps64 mkstemp mkstemp64 mkstemps mkstemps64 mktemp mktime "
    "mlock mlock2 mlockall mmap mmap64 modf modff modfl modify_ldt moncontrol monstartup mount mount_setattr "
    "move_mount mprobe mprotect mq_close mq_getattr mq_notify mq_open mq_receive mq_send mq_setattr mq_timedreceive "
    "mq_timedsend mq_unlink mrand48 mrand48_r mremap msgctl msgget msgrcv msgsnd msync mtrace mtx_destroy mtx_init "
    "mtx_lock mtx_timedlock mtx_trylock mtx_unlock munlock munlockall munmap muntrace name_to_handle_at nan nanf nanl "
    "nanosleep nearbyint nearbyintf nearbyintl newlocale nextafter nextafterf nextafterl nextdown nextdownf nextdownl "
    "nexttoward nexttowardf nexttowardl nextup nextupf nextupl nftw ngettext nice nl_langinfo nl_langinfo_l nrand48 "
    "nrand48_r ntohl ntohs ntp_adjtime ntp_gettime ntp_gettimex obstack_printf obstack_vprintf on_exit open open64 "
    "open_by_handle_at open_memstream open_tree open_wmemstream openat openat64 opendir openlog openpty optarg opterr "
    "optind optopt parse_printf_format pathconf pause pclose perror personality pidfd_getfd pidfd_open "
    "pidfd_send_signal pipe pipe2 pivot_root pkey_alloc pkey_free pkey_get pkey_mprotect pkey_set poll popen "
    "posix_fadvise posix_fadvise64 posix_fallocate posix_fallocate64 posix_madvise posix_memalign posix_openpt "
    "posix_spawn posix_spawn_file_actions_addchdir_np posix_spawn_file_actions_addclose "
    "posix_spawn_file_actions_addclosefrom_np posix_spawn_file_actions_adddup2 posix_spawn_file_actions_addfchdir_np "
    "posix_spawn_file_actions_addopen posix_spawn_file_actions_addtcsetpgrp_np posix_spawn_file_actions_destroy "
    "posix_spawn_file_actions_init posix_spawnattr_destroy posix_spawnattr_getflags posix_spawnattr_getpgroup "
    "posix_spawnattr_getschedparam posix_spawnattr_getschedpolicy posix_spawnattr_getsigdefault "
    "posix_spawnattr_getsigmask posix_spawnattr_init posix_spawnattr_setflags posix_spawnattr_setpgroup "
    "posix_spawnattr_setschedparam posix_spawnattr_setschedpolicy posix_spawnattr_setsigdefault "
    "posix_spawnattr_setsigmask posix_spawnp pow powf powl ppoll prctl pread pread64 preadv preadv2 preadv64 "
    "preadv64v2 printf printf_size printf_size_info prlimit prlimit64 process_madvise process_mrelease "
    "process_vm_readv process_vm_writev profil program_invocation_name program_invocation_short_name pselect psiginfo "
    "psignal pthread_atfork pthread_attr_destroy pthread_attr_getaffinity_np pthread_attr_getdetachstate "
    "pthread_attr_getguardsize pthread_attr_getinheritsched pthread_attr_getschedparam pthread_attr_getschedpolicy "
    "pthread_attr_getscope pthread_attr_getsigmask_np pthread_attr_getstack pthread_attr_getstackaddr "
    "pthread_attr_getstacksize pthread_attr_init pthread_attr_setaffinity_np pthread_attr_setdetachstate "
    "pthread_attr_setguardsize pthread_attr_setinheritsched pthread_attr_setschedparam pthread_attr_setschedpolicy "
    "pthread_attr_setscope pthread_attr_setsigmask_np pthread_attr_setstack pthread_attr_setstackaddr "
    "pthread_attr_setstacksize pthread_barrier_destroy pthread_barrier_init pthread_barrier_wait "
    "pthread_barrierattr_destroy pthread_barrierattr_getpshared pthread_barrierattr_init "
    "pthread_barrierattr_setpshared pthread_cancel pthread_clockjoin_np pthread_cond_broadcast pthread_cond_clockwait "
    "pthread_cond_destroy pthread_cond_init pthread_cond_signal pthread_cond_timedwait pthread_cond_wait "
    "pthread_condattr_destroy pthread_condattr_getclock pthread_condattr_getpshared pthread_condattr_init "
    "pthread_condattr_setclock pthread_condattr_setpshared pthread_create pthread_detach pthread_equal pthread_exit "
    "pthread_getaffinity_np pthread_getattr_default_np pthread_getattr_np pthread_getconcurrency "
    "pthread_getcpuclockid pthread_getname_np pthread_getschedparam pthread_getspecific pthread_join "
    "pthread_key_create pthread_key_delete pthread_kill pthread_mutex_clocklock pthread_mutex_consistent "
    "pthread_mutex_consistent_np pthread_mutex_destroy pthread_mutex_getprioceiling pthread_mutex_init "
    "pthread_mutex_lock pthread_mutex_setprioceiling pthread_mutex_timedlock pthread_mutex_trylock "
    "pthread_mutex_unlock pthread_mutexattr_destroy pthread_mutexattr_getprioceiling pthread_mutexattr_getprotocol "
    "pthread_mutexattr_getpshared pthread_mutexattr_getrobust pthread_mutexattr_getrobust_np "
    "pthread_mutexattr_gettype pthread_mutexattr_init pthread_mutexattr_setprioceiling pthread_mutexattr_setprotocol "
    "pthread_mutexattr_setpshared pthread_mutexattr_setrobust pthread_mutexattr_setrobust_np "
    "pthread_mutexattr_settype pthread_once pthread_rwlock_clockrdlock pthread_rwlock_clockwrlock "
    "pthread_rwlock_destroy pthread_rwlock_init pthread_rwlock_rdlock pthread_rwlock_timedrdlock "
    "pthread_rwlock_timedwrlock pthread_rwlock_tryrdlock pthread_rwlock_trywrlock pthread_rwlock_unlock "
    "pthread_rwlock_wrlock pthread_rwlockattr_destroy pthread_rwlockattr_getkind_np pthread_rwlockattr_getpshared "
    "pthread_rwlockattr_init pthread_rwlockattr_setkind_np pthread_rwlockattr_setpshared pthread_self "
    "pthread_setaffinity_np pthread_setattr_default_np pthread_setcancelstate pthread_setcanceltype "
    "pthread_setconcurrency pthread_setname_np pthread_setschedparam pthread_setschedprio pthread_setspecific "
    "pthread_sigmask pthread_sigqueue pthread_spin_destroy pthread_spin_init pthread_spin_lock pthread_spin_trylock "
    "pthread_spin_unlock pthread_testcancel pthread_timedjoin_np pthread_tryjoin_np pthread_yield ptrace ptsname "
    "ptsname_r putc putc_unlocked putchar putchar_unlocked putenv putgrent putpwent puts putsgent putspent pututline "
    "pututxline putw putwc putwc_unlocked putwchar putwchar_unlocked pvalloc pwrite pwrite64 pwritev pwritev2 "
    "pwritev64 pwritev64v2 qecvt qecvt_r qfcvt qfcvt_r qgcvt qsort qsort_r quick_exit quotactl raise rand rand_r "
    "random random_r rawmemchr re_comp re_compile_fastmap re_compile_pattern re_exec re_match re_match_2 "
    "re_max_failures re_search re_search_2 re_set_registers re_set_syntax re_syntax_options read readahead readdir "
    "readdir64 readdir64_r readdir_r readlink readlinkat readv realloc reallocarray realpath reboot recv recvfrom "
    "recvmmsg recvmsg regcomp regerror regexec regfree register_printf_function register_printf_modifier "
    "register_printf_specifier register_printf_type remainder remainderf remainderl remap_file_pages remove "
    "removexattr remque remquo remquof remquol rename renameat renameat2 revoke rewind rewinddir rindex rint rintf "
    "rintl rmdir round roundeven roundevenf roundevenl roundf roundl rpmatch rresvport rresvport_af sbrk scalb scalbf "
    "scalbl scalbln scalblnf scalblnl scalbn scalbnf scalbnl scandir scandir64 scandirat scandirat64 scanf "
    "sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getcpu sched_getparam sched_getscheduler "
    "sched_rr_get_interval sched_setaffinity sched_setparam sched_setscheduler sched_yield secure_getenv seed48 "
    "seed48_r seekdir select sem_clockwait sem_close sem_destroy sem_getvalue sem_init sem_open sem_post "
    "sem_timedwait sem_trywait sem_unlink sem_wait semctl semget semop semtimedop send sendfile sendfile64 sendmmsg "
    "sendmsg sendto setaliasent setbuf setbuffer setcontext setdomainname setegid setenv seteuid setfsent setfsgid "
    "setfsuid setgid setgrent setgroups sethostent sethostid sethostname setipv4sourcefilter setitimer setjmp "
    "setlinebuf setlocale setlogin setlogmask setmntent setnetent setnetgrent setns setpayload setpayloadf "
    "setpayloadl setpayloadsig setpayloadsigf setpayloadsigl setpgid setpgrp setpriority setprotoent setpwent "
    "setregid setresgid setresuid setreuid setrlimit setrlimit64 setrpcent setservent setsgent setsid setsockopt "
    "setsourcefilter setspent setstate setstate_r settimeofday setttyent setuid setusershell setutent setutxent "
    "setvbuf setxattr sgetsgent sgetsgent_r sgetspent sgetspent_r shm_open shm_unlink shmat shmctl shmdt shmget "
    "shutdown sigabbrev_np sigaction sigaddset sigaltstack sigandset sigblock sigdelset sigdescr_np sigemptyset "
    "sigfillset siggetmask sighold sigignore siginterrupt sigisemptyset sigismember siglongjmp signal signalfd "
    "signgam significand significandf significandl sigorset sigpause sigpending sigprocmask sigqueue sigrelse "
    "sigreturn sigset sigsetmask sigstack sigsuspend sigtimedwait sigwait sigwaitinfo sin sincos sincosf sincosl sinf "
    "sinh sinhf sinhl sinl sleep snprintf sockatmark socket socketpair splice sprintf sprofil sqrt sqrtf sqrtl srand "
    "srand48 srand48_r srandom srandom_r sscanf ssignal stat stat64 statfs statfs64 statvfs statvfs64 statx stderr "
    "stdin stdout stpcpy stpncpy strcasecmp strcasecmp_l strcasestr strcat strchr strchrnul strcmp strcoll strcoll_l "
    "strcpy strcspn strdup strerror strerror_l strerror_r strerrordesc_np strerrorname_np strfmon strfmon_l strfromd "
    "strfromf strfroml strfry strftime strftime_l strlen strncasecmp strncasecmp_l strncat strncmp strncpy strndup "
    "strnlen strpbrk strptime strptime_l strrchr strsep strsignal strspn strstr strtod strtod_l strtof strtof128_l "
    "strtof32_l strtof32x_l strtof64_l strtof64x_l strtof_l strtoimax strtok strtok_r strtol strtol_l strtold "
    "strtold_l strtoll strtoll_l strtoq strtoul strtoul_l strtoull strtoull_l strtoumax strtouq strverscmp strxfrm "
    "strxfrm_l stty swab swapcontext swapoff swapon swprintf swscanf symlink symlinkat sync sync_file_range syncfs "
    "syscall sysconf sysinfo syslog system sysv_signal tan tanf tanh tanhf tanhl tanl tcdrain tcflow tcflush "
    "tcgetattr tcgetpgrp tcgetsid tcsendbreak tcsetattr tcsetpgrp tdelete tdestroy tee telldir tempnam textdomain "
    "tfind tgamma tgammaf tgammal tgkill thrd_create thrd_current thrd_detach thrd_equal thrd_exit thrd_join "
    "thrd_sleep thrd_yield time timegm timelocal timer_create timer_delete timer_getoverrun timer_gettime "
    "timer_settime timerfd_create timerfd_gettime timerfd_settime times timespec_get timespec_getres timezone tmpfile "
    "tmpfile64 tmpnam tmpnam_r toascii tolower tolower_l totalorder totalorderf totalorderl totalordermag "
    "totalordermagf totalordermagl toupper toupper_l towctrans towctrans_l towlower towlower_l towupper towupper_l "
    "trunc truncate truncate64 truncf truncl tsearch tss_create tss_delete tss_get tss_set ttyname ttyname_r ttyslot "
    "twalk twalk_r tzname tzset ualarm ufromfp ufromfpf ufromfpl ufromfpx ufromfpxf ufromfpxl ulckpwdf ulimit umask "
    "umount umount2 uname ungetc ungetwc unlink unlinkat unlockpt unsetenv unshare updwtmp updwtmpx uselocale usleep "
    "utime utimensat utimes utmpname utmpxname valloc vasprintf vdprintf verr verrx versionsort versionsort64 vfork "
    "vfprintf vfscanf vfwprintf vfwscanf vhangup vlimit vmsplice vprintf vscanf vsnprintf vsprintf vsscanf vswprintf "
    "vswscanf vsyslog vwarn vwarnx vwprintf vwscanf wait wait3 wait4 waitid waitpid warn warnx wcpcpy wcpncpy wcrtomb "
    "wcscasecmp wcscasecmp_l wcscat wcschr wcschrnul wcscmp wcscoll wcscoll_l wcscpy wcscspn wcsdup wcsftime "
    "wcsftime_l wcslen wcsncasecmp wcsncasecmp_l wcsncat wcsncmp wcsncpy wcsnlen wcsnrtombs wcspbrk wcsrchr wcsrtombs "
    "wcsspn wcsstr wcstod wcstod_l wcstof wcstof128_l wcstof32_l wcstof32x_l wcstof64_l wcstof64x_l wcstof_l "
    "wcstoimax wcstok wcstol wcstol_l wcstold wcstold_l wcstoll wcstoll_l wcstombs wcstoq wcstoul wcstoul_l wcstoull "
    "wcstoull_l wcstoumax wcstouq wcswcs wcswidth wcsxfrm wcsxfrm_l wctob wctomb wctrans wctrans_l wctype wctype_l "
    "wcwidth wmemchr wmemcmp wmemcpy wmemmove wmempcpy wmemset wordexp wordfree wprintf write writev wscanf y0 y0f "
    "y0l y1 y1f y1l yn ynf ynl ";

constexpr size_t kLongestName = 249;  // file names have up to 255 bytes: lib….so

using Words = absl::flat_hash_set<std::string_view>;

const Words& words_of(std::string_view list) {
  static const auto& tables = *new absl::flat_hash_map<const char*, Words>([] {
    absl::flat_hash_map<const char*, Words> made;
    for (const std::string_view words : {kKeywords, kTypes, kSystemTypes, kNamespaces, kMacros, kLibrary}) {
      for (size_t at = 0; at < words.size(); at = words.find(' ', at) + 1) {  // each ends with a space
        made[words.data()].insert(words.substr(at, words.find(' ', at) - at));
      }
    }
    return made;
  }());
  return tables.at(list.data());
}

// E and capitals (error numbers), SIG and capitals, PRI and SCN of <inttypes.h>.
bool is_macro_by_form(std::string_view name) {
  const auto capitals = [&](size_t from) {
    return name.size() >= from + 2 &&
           std::ranges::all_of(name.substr(from), [](unsigned char c) { return std::isupper(c) || std::isdigit(c); });
  };
  if (name.starts_with("E") && name.size() >= 4) return capitals(1);
  if (name.starts_with("SIG")) return capitals(3);
  if (name.starts_with("M_")) {  // M_PI, M_2_SQRTPI, M_PIf64x of <math.h>
    const auto type = std::ranges::find_if(name, [](unsigned char c) { return std::islower(c) != 0; });
    constexpr std::string_view kOfTypes[] = {"", "f", "l", "f32", "f64", "f128", "f32x", "f64x"};
    return std::ranges::find(kOfTypes, name.substr(static_cast<size_t>(type - name.begin()))) != std::end(kOfTypes);
  }
  return (name.starts_with("PRI") || name.starts_with("SCN")) && name.size() > 4 &&
         std::string_view("dioux").find(name[3]) != std::string_view::npos;
}

// sinf32, lgammaf64x_r: the functions for the types of ISO/IEC TS 18661.
bool is_library(std::string_view name) {
  const Words& words = words_of(kLibrary);
  if (words.contains(name)) return true;
  const std::string_view end = name.ends_with("_r") ? "_r" : "";
  const std::string_view stem = name.substr(0, name.size() - end.size());
  for (const std::string_view type : {"f16", "f32", "f64", "f128", "f32x", "f64x", "f128x"}) {
    if (!stem.ends_with(type)) continue;
    return words.contains(concat(stem.substr(0, stem.size() - type.size()), end));
  }
  return false;
}

bool is_type(std::string_view name) { return words_of(kTypes).contains(name) || words_of(kSystemTypes).contains(name); }

bool is_namespace(std::string_view name) {
  const bool numbered = name.starts_with("std") &&
                        std::ranges::all_of(name.substr(3), [](unsigned char c) { return std::isdigit(c) != 0; });
  return numbered || words_of(kNamespaces).contains(name);
}

// Macros that are objects: they are among the library's names.
bool is_object(std::string_view name) {
  return name == "errno" || name == "stdin" || name == "stdout" || name == "stderr" || name == "math_errhandling";
}

bool is_reserved(std::string_view name) {
  return name.size() > 1 && name[0] == '_' && (name[1] == '_' || std::isupper(static_cast<unsigned char>(name[1])));
}

}  // namespace

std::string problem_of_function_name(std::string_view name) {
  const bool letters =
      std::ranges::all_of(name, [](unsigned char c) { return c < 128 && (std::isalnum(c) || c == '_'); });
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) || !letters) {
    return "use letters, digits and underscores";
  }
  if (words_of(kKeywords).contains(name)) return "it is a keyword of C or C++";
  if (is_type(name)) return "it is a type of C's headers";
  if (is_namespace(name)) return "it is a namespace of C++, or reserved for one";
  if (words_of(kMacros).contains(name) || is_macro_by_form(name)) return "it is a macro of C's headers";
  if (is_library(name)) return "the C library has a function of this name, whose place it would take";
  if (name[0] == '_') return "names that begin with an underscore are reserved for the compiler and the C library";
  if (name.size() > kLongestName)
    return concat("files or symbols are named after it; use up to ", kLongestName, " letters");
  return "";
}

bool can_name_parameter(std::string_view name) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) || is_reserved(name)) return false;
  return !words_of(kKeywords).contains(name) && !words_of(kTypes).contains(name) && !words_of(kMacros).contains(name) &&
         !is_macro_by_form(name) && !is_object(name);
}

}  // namespace ct::jit
