/* Certificates, ciphers and protocol versions. http_tls_create() is called when a server is opened
 * and when certificates are read again, on the main thread; tls_create() for each connection, on
 * its loop. A connection keeps the settings with which it began. */
#include "http/http_internal.h"

#include <errno.h>
#include <malloc.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/mem.h"

struct http_tls {
    SSL_CTX *context;
};

/* Ciphers of TLS 1.2 with forward secrecy and authenticated encryption; those of 1.3 all have both.
 */
#define CIPHERS "ECDHE+AESGCM:ECDHE+CHACHA20"

/* The first error in OpenSSL's queue is the reason; those after it only name its callers. */
static bool fail(struct err *err, const char *what, struct str file)
{
    unsigned long code = ERR_peek_error();
    const char *reason = ERR_reason_error_string(code);
    if (ERR_GET_LIB(code) == ERR_LIB_SYS || reason == NULL) {
        reason = strerror(code == 0 ? errno : (int)ERR_GET_REASON(code));
    }
    return err_set(err, ERR_INTERNAL, "%s %.*s: %s", what, STR_ARG(file), reason);
}

/* Without this OpenSSL would ask for a passphrase on the terminal. */
static int no_passphrase(char *buffer, int size, int is_writing, void *context)
{
    (void)buffer, (void)size, (void)is_writing, (void)context;
    return -1;
}

static bool check_key_mode(struct str file, struct err *err)
{
    struct stat info;
    if (stat(file.data, &info) != 0) {
        return err_set(err, ERR_INTERNAL, "cannot read the TLS key %.*s: %s", STR_ARG(file),
                       strerror(errno));
    }
    return (info.st_mode & (S_IROTH | S_IWOTH)) == 0 ||
           err_set(err, ERR_INTERNAL,
                   "the TLS key %.*s can be read or written by everybody: use chmod 600",
                   STR_ARG(file));
}

/* Keys are in memory that is not part of core dumps: OpenSSL's secure heap. Each handshake under
 * way has a key there, too; when it is full, handshakes fail. */
static void set_up_secure_heap(void)
{
    enum { HEAP_BYTES = 8 << 20, BLOCK_BYTES_MIN = 16 };
    if (CRYPTO_secure_malloc_initialized() == 0) {
        (void)CRYPTO_secure_malloc_init(HEAP_BYTES, BLOCK_BYTES_MIN); /* or the ordinary heap */
    }
}

/* While it is set, memory that OpenSSL frees on this thread is overwritten: its parsers of keys do
 * not do so. */
static _Thread_local bool erases_freed;

static void *allocate(size_t size, const char *file, int line)
{
    (void)file, (void)line;
    return malloc(size);
}

static void release(void *memory, const char *file, int line)
{
    (void)file, (void)line;
    if (UNLIKELY(erases_freed) && memory != NULL) {
        explicit_bzero(memory, malloc_usable_size(memory));
    }
    free(memory);
}

static void *reallocate(void *memory, size_t size, const char *file, int line)
{
    if (LIKELY(!erases_freed) || memory == NULL) {
        return realloc(memory, size);
    }
    void *copy = malloc(size);
    if (copy != NULL) {
        memcpy(copy, memory, MIN(size, malloc_usable_size(memory)));
        release(memory, file, line);
    }
    return copy;
}

void http_tls_prepare(void)
{
    (void)CRYPTO_set_mem_functions(allocate, reallocate, release);
}

static EVP_PKEY *read_key(BIO *bio)
{
    erases_freed = true;
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL);
    erases_freed = false;
    return key;
}

/* Reads the key with unbuffered input, so that no copy of its text stays in memory. */
static bool use_key_file(SSL_CTX *context, const char *path)
{
    enum { FILE_BYTES_MAX = 64 * 1024 };
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        ERR_raise(ERR_LIB_SYS, errno);
        return false;
    }
    setvbuf(file, NULL, _IONBF, 0);
    char *text = OPENSSL_secure_malloc(FILE_BYTES_MAX);
    size_t len = text == NULL ? 0 : fread(text, 1, FILE_BYTES_MAX, file);
    fclose(file);
    BIO *bio = BIO_new_mem_buf(text, (int)len);
    EVP_PKEY *key = read_key(bio);
    bool good = key != NULL && SSL_CTX_use_PrivateKey(context, key) == 1;
    EVP_PKEY_free(key);
    BIO_free(bio);
    OPENSSL_secure_clear_free(text, FILE_BYTES_MAX);
    return good;
}

static bool load_certificate(SSL_CTX *context, struct str cert, struct str key, struct err *err)
{
    if (SSL_CTX_use_certificate_chain_file(context, cert.data) != 1) {
        return fail(err, "cannot read the TLS certificate", cert);
    }
    if (!check_key_mode(key, err)) {
        return false;
    }
    if (!use_key_file(context, key.data)) {
        int reason = ERR_GET_REASON(ERR_peek_last_error());
        bool is_other = reason == X509_R_KEY_VALUES_MISMATCH || reason == X509_R_KEY_TYPE_MISMATCH;
        return fail(err,
                    is_other ? "the TLS certificate is not that of the key"
                             : "cannot read the TLS key (it must not have a passphrase)",
                    key);
    }
    return true;
}

/* Client certificates ------------------------------------------------------------------------ */

static char *subject_of(const X509 *certificate)
{
    enum { BYTES_MAX = 512 };
    char *text = mem_zalloc(BYTES_MAX + 1);
    BIO *bio = BIO_new(BIO_s_mem());
    if (bio != NULL) {
        X509_NAME_print_ex(bio, X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253);
        (void)BIO_read(bio, text, BYTES_MAX);
        BIO_free(bio);
    }
    return text;
}

/* OpenSSL has checked a certificate of the client's chain. Notes the client's own if the check
 * failed: OpenSSL does not keep it then. Returns the result of the check. */
static int note_check(int is_good, X509_STORE_CTX *check)
{
    SSL *ssl = X509_STORE_CTX_get_ex_data(check, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct tls *tls = SSL_get_app_data(ssl);
    const X509 *certificate = X509_STORE_CTX_get0_cert(check);
    if (is_good == 0 && certificate != NULL && tls->subject == NULL) {
        tls->subject = subject_of(certificate);
    }
    return is_good;
}

/* After a failure OpenSSL is still in the state of the message that it refuses. */
void tls_note_client(struct tls *tls)
{
    if (SSL_get_verify_mode(tls->ssl) == SSL_VERIFY_NONE) {
        return;
    }
    const X509 *certificate = SSL_get0_peer_certificate(tls->ssl);
    if (certificate != NULL && tls->subject == NULL) {
        tls->subject = subject_of(certificate);
    }
    OSSL_HANDSHAKE_STATE state = SSL_get_state(tls->ssl);
    tls->is_client_refused =
        tls->stage == TLS_BROKEN && (state == TLS_ST_SR_CERT || state == TLS_ST_SR_CERT_VRFY);
}

/* Clients must show a certificate that one of these authorities has signed. */
static bool require_client_certificate(SSL_CTX *context, struct str ca, struct err *err)
{
    STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(ca.data);
    if (names == NULL || SSL_CTX_load_verify_file(context, ca.data) != 1) {
        sk_X509_NAME_pop_free(names, X509_NAME_free);
        return fail(err, "cannot read the TLS client authorities", ca);
    }
    SSL_CTX_set_client_CA_list(context, names);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, note_check);
    return true;
}

/* Settings ----------------------------------------------------------------------------------- */

/* Refuses a client that offers protocols, but not http/1.1 (RFC 7301). */
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                           const unsigned char *offered, unsigned offered_len, void *context)
{
    static const unsigned char ours[] = "\x08http/1.1";
    (void)ssl, (void)context;
    unsigned char *chosen;
    int result =
        SSL_select_next_proto(&chosen, out_len, ours, sizeof(ours) - 1, offered, offered_len);
    *out = chosen;
    return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static bool set_up(SSL_CTX *context, const struct http_tls_options *options, struct err *err)
{
    static const unsigned char session_context[] = "gramme";
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                     SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA |
                                     SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_CLEANSE_PLAINTEXT);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    /* Sessions are resumed by tickets, which need no memory on the server. */
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_session_id_context(context, session_context, sizeof(session_context) - 1);
    SSL_CTX_set_num_tickets(context, 1);
    SSL_CTX_set_default_passwd_cb(context, no_passphrase);
    SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
    if (SSL_CTX_set_cipher_list(context, CIPHERS) != 1) {
        return fail(err, "cannot set the ciphers", STR(CIPHERS));
    }
    return load_certificate(context, options->cert_file, options->key_file, err) &&
           (options->client_ca_file.len == 0 ||
            require_client_certificate(context, options->client_ca_file, err));
}

bool http_tls_create(const struct http_tls_options *options, struct http_tls **out, struct err *err)
{
    ERR_clear_error();
    set_up_secure_heap();
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (context == NULL) {
        return err_set(err, ERR_INTERNAL, "OpenSSL does not work");
    }
    if (!set_up(context, options, err)) {
        SSL_CTX_free(context);
        ERR_clear_error();
        return false;
    }
    *out = mem_zalloc(sizeof(**out));
    (*out)->context = context;
    return true;
}

void http_tls_destroy(struct http_tls *tls)
{
    if (tls != NULL) {
        SSL_CTX_free(tls->context); /* connections hold it too */
        mem_free(tls);
    }
}

void http_server_set_tls(struct http_server *server, struct http_tls *tls)
{
    pthread_mutex_lock(&server->tls_mutex);
    struct http_tls *before = server->tls;
    server->tls = tls;
    pthread_mutex_unlock(&server->tls_mutex);
    http_tls_destroy(before);
}

static SSL *new_ssl(struct http_server *server)
{
    pthread_mutex_lock(&server->tls_mutex);
    assert(server->tls != NULL);
    SSL *ssl = SSL_new(server->tls->context);
    pthread_mutex_unlock(&server->tls_mutex);
    return ssl;
}

struct tls *tls_create(struct conn *conn)
{
    struct memory_pool *memory = loop_options(conn->loop)->memory;
    struct tls *tls = mem_zalloc(sizeof(*tls));
    tls->conn = conn;
    tls->ssl = new_ssl(conn->loop->server);
    BIO *bio = tls->ssl == NULL ? NULL : tls_bio_create(tls);
    if (bio == NULL) {
        SSL_free(tls->ssl);
        mem_free(tls);
        return NULL;
    }
    SSL_set_bio(tls->ssl, bio, bio); /* takes it */
    SSL_set_app_data(tls->ssl, tls);
    SSL_set_accept_state(tls->ssl);
    budget_init(&tls->budget, memory, 0);
    tls->kept.budget = tls->out.budget = tls->in_flight.budget = &tls->budget;
    tls->sink = &tls->out;
    tls->task.run = tls_on_task;
    memory_pool_add(memory, TLS_CONN_BYTES);
    return tls;
}

void tls_destroy(struct tls *tls)
{
    if (tls == NULL) {
        return;
    }
    assert(!tls_is_held(tls));
    SSL_free(tls->ssl);
    buf_finish(&tls->kept);
    buf_finish(&tls->out);
    buf_finish(&tls->in_flight);
    mem_free(tls->subject);
    memory_pool_remove(loop_options(tls->conn->loop)->memory, TLS_CONN_BYTES);
    mem_free(tls);
}
